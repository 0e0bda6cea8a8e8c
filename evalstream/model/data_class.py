"""Classes of named values, as dataclasses are, that take little time to define.

For each class the standard library compiles the text of new methods, and it loads `inspect` to do
so. With the classes of a check this takes as long as all else that a small run needs. The classes
here share their methods. What `dataclasses` and `inspect` ask of a class is made when they ask
it. The named tuples here differ from those of `typing` in that the text of
their constructor is compiled when many tuples of a class are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeVar, dataclass_transform

MANY: Final = 16
"""Of so many tuples of a class the constructor is worth being compiled."""


class _OnDemand:
    """An attribute of classes that a function of this module makes when it is read."""

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._made: dict[type, Any] = {}

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is not None and self._maker == "signature_of":
            raise AttributeError(self._maker)
        if owner not in self._made:
            self._made[owner] = globals()[self._maker](owner, declared_fields(owner))
        return self._made[owner]


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - mypy asks for the export
else:
    from _collections import _tuplegetter
    from collections.abc import Iterable
    from functools import cache

    _made: Final[dict[tuple[str, ...], int]] = {}
    """How many tuples were made of classes whose constructor is not compiled."""

    _member_at = cache(lambda index: _tuplegetter(index, None))
    """Members by their index, shared by all classes."""

    class _Slotless(type):
        """The type of classes whose objects hold nothing beside their tuple."""

        def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> type:
            members["__slots__"] = ()
            made: Any = super().__new__(cls, name, bases, members)
            if bases != (tuple,) and not hasattr(bases[0], "_fields"):
                # From Python 3.14 on, members need not have annotations; the class still has.
                made._fields = made.__match_args__ = names = tuple(made.__annotations__)
                made._field_defaults = {one: members[one] for one in names if one in members}
                for place, one in enumerate(names):
                    setattr(made, one, _member_at(place))
            return made

    class NamedTuple(tuple, metaclass=_Slotless):
        """The base of named tuples; the methods and their names are those of `typing`."""

        __dataclass_fields__ = _OnDemand("fields_of")
        __signature__ = _OnDemand("signature_of")

        def __new__(cls, *values: Any, **named: Any) -> Any:
            """Make a tuple; the constructor of a class that makes many is compiled."""
            fields = cls._fields
            _made[fields] = number = _made.get(fields, 0) + 1
            rest, by_name = fields[len(values) :], {**cls._field_defaults, **named}
            is_right = len(values) <= len(fields) and named.keys() <= {*rest} <= by_name.keys()
            if number < MANY and is_right:
                return tuple.__new__(cls, (*values, *map(by_name.__getitem__, rest)))
            owner = next(one for one in reversed(cls.__mro__) if hasattr(one, "_fields"))
            names = ", ".join(owner._fields)
            text = f"lambda cls, {names}: new(cls, ({names},))"
            made = eval(text, {"new": tuple.__new__})  # noqa: S307 - made of identifiers
            made.__defaults__ = tuple(owner._field_defaults.values())
            owner.__new__ = made
            return made(cls, *values, **named)

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            """Return a tuple of values. Raises TypeError for another number of them."""
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__}: {len(made)} values for {len(cls._fields)}")
            return made

        def _replace(self, **changes: Any) -> Any:
            """Return a changed copy. Raises ValueError for the name of no member."""
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"{self.__class__.__name__}: unknown {', '.join(changes)}")
            return made

        __replace__ = _replace

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            values = (f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{self.__class__.__name__}({', '.join(values)})"


if TYPE_CHECKING:
    Kind = TypeVar("Kind", bound="DataClass")

REQUIRED: Final = object()
"""The default of a field that every object must be given."""


class Field(NamedTuple):
    """A field: its type as annotated, its default or what makes it, and a description.

    Fields that are not compared do not count for equality, and are not shown.
    """

    default: Any = REQUIRED
    default_factory: Callable[[], Any] | None = None
    compare: bool = True
    description: Any = None
    type: Any = None

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED and self.default_factory is None


def field(
    *,
    default: Any = REQUIRED,
    default_factory: Callable[[], Any] | None = None,
    compare: bool = True,
    description: Any = None,
) -> Any:
    """Declare a field whose default is made for each object, or that has a description."""
    return Field(default, default_factory, compare, description)


@dataclass_transform(field_specifiers=(field,))
class DataClass:
    """The base of classes of named values; its annotations are the fields, in this order.

    Objects are equal if their classes and compared fields are. With `frozen=True` a class is
    hashable, and its fields cannot be assigned to; with `kw_only=True` values go by name alone.
    """

    if TYPE_CHECKING:
        __data_fields__: ClassVar[Mapping[str, Field]]
        _by_position: ClassVar[tuple[str, ...]]
        _required: ClassVar[frozenset[str]]
        _defaults: ClassVar[Mapping[str, Any]]
        _factories: ClassVar[tuple[tuple[str, Callable[[], Any]], ...]]
        _compared: ClassVar[Any]
        _made: ClassVar[int]
    else:
        # Without annotations, as `typing.get_type_hints` is for the fields.
        __dataclass_fields__ = _OnDemand("fields_of")
        __signature__ = _OnDemand("signature_of")
        __data_fields__ = {}

    def __init_subclass__(cls, *, frozen: bool = False, kw_only: bool = False) -> None:
        """Read the fields of a new class, after those of its base."""
        fields = dict(cls.__data_fields__)
        for name, kind in cls.__annotations__.items():
            declared = cls.__dict__.get(name, REQUIRED)
            if isinstance(declared, Field):
                delattr(cls, name)
                fields[name] = Field(*declared[:-1], kind)
            else:
                fields[name] = Field(declared, type=kind)
        cls.__data_fields__ = fields
        cls._by_position = () if kw_only else tuple(fields)
        cls._required = frozenset(name for name, one in fields.items() if one.is_required)
        cls._defaults = {name: one.default for name, one in fields.items()}
        cls._factories = tuple(
            (name, one.default_factory) for name, one in fields.items() if one.default_factory
        )
        cls._compared = attrgetter(*(name for name, one in fields.items() if one.compare))
        # One that was compiled for the base has other fields.
        cls.__init__, cls._made = DataClass.__init__, 0  # type: ignore[method-assign]
        if frozen:
            cls.__setattr__ = cls.__delattr__ = _refuse  # type: ignore[assignment]
        else:
            cls.__hash__ = None  # type: ignore[assignment]

    def __init__(self, *values: Any, **named: Any) -> None:
        """Take the values of the fields. Raises TypeError for a missing or unknown one.

        The constructor of a class that makes many objects is compiled.
        """
        if values:
            self._name(values, named)
        values_by_name = {**self._defaults, **named}
        if len(values_by_name) > len(self._defaults) or not self._required <= named.keys():
            wrong = named.keys() ^ (self._required | named.keys() & self.__data_fields__.keys())
            raise TypeError(
                f"{self.__class__.__name__}: missing or unknown {', '.join(sorted(wrong))}"
            )
        for name, make in self._factories:
            if name not in named:
                values_by_name[name] = make()
        _set(self, "__dict__", values_by_name)
        cls = self.__class__
        cls._made += 1
        if cls._made == MANY:
            cls.__init__ = _compile_constructor(cls)  # type: ignore[method-assign]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self._compared(self) == self._compared(other))

    def __hash__(self) -> int:
        return hash(self._compared(self))

    def __repr__(self) -> str:
        shown = (name for name, one in self.__data_fields__.items() if one.compare)
        values = (f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({', '.join(values)})"

    def __replace__(self: Kind, /, **changes: Any) -> Kind:
        return self.__class__(**{**field_values(self), **changes})

    def _name(self, values: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Add values to the named ones. Raises TypeError if there are too many."""
        names = self._by_position[: len(values)]
        if len(names) < len(values) or not named.keys().isdisjoint(names):
            raise TypeError(f"{self.__class__.__name__}: too many values")
        named.update(zip(names, values, strict=True))


def _compile_constructor(cls: type[DataClass]) -> Any:
    """Return a constructor that takes the fields of a class by its own parameters."""
    makers, by_name = dict(cls._factories), "" if cls._by_position else "*, "
    parameters, values, known = [], [], {"_set": _set, "_missing": REQUIRED}
    for number, (name, one) in enumerate(cls.__data_fields__.items()):
        known[f"_{number}"], value = makers.get(name, one.default), name
        if name in makers:
            value = f"_{number}() if {name} is _missing else {name}"
        default = "" if one.is_required else "=_missing" if name in makers else f"=_{number}"
        parameters.append(f"{name}{default}")
        values.append(f"'{name}': {value}")
    text = f"lambda self, {by_name}{', '.join(parameters)}: "
    made = eval(f"{text}_set(self, '__dict__', {{{', '.join(values)}}})", known)  # noqa: S307 - made of identifiers
    made.__qualname__ = cls.__qualname__
    return made


def fields_of(owner: type, declared: Mapping[str, Field]) -> dict[str, Any]:
    """Return the fields of a class as `dataclasses.fields` returns them; `metadata` has `doc`."""
    docs = docs_of(owner, declared)
    return {name: _field(name, one, docs.get(name, "")) for name, one in declared.items()}


def signature_of(owner: type, declared: Mapping[str, Field]) -> Any:
    """Return the signature of the constructor of a class, as `inspect` has it."""
    import inspect

    by_name = not getattr(owner, "_by_position", True)
    kind = inspect.Parameter.KEYWORD_ONLY if by_name else inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for name, one in declared.items():
        default = inspect.Parameter.empty if one.is_required else one.default
        default = default if one.default_factory is None else one.default_factory()
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=one.type))
    return inspect.Signature(parameters)


def docs_of(owner: type, declared: Mapping[str, Field]) -> dict[str, str]:
    """Return what the docstring of a class says about each attribute."""
    import inspect
    import re

    text = inspect.cleandoc(owner.__doc__ or "")
    section = re.search(r"\n\s*Attributes:\n(.*)", text, re.DOTALL)
    attribute = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
    found = attribute.findall(section[1]) if section else []
    described = {
        name: one.description.help.removesuffix(".") + "."
        for name, one in declared.items()
        if one.description is not None
    }
    return described | {name: " ".join(text.split()) for name, text in found}


def _field(name: str, one: Any, doc: str | None) -> Any:
    import dataclasses

    made: Any = dataclasses.field(
        default=dataclasses.MISSING if one.is_required or one.default_factory else one.default,
        default_factory=one.default_factory or dataclasses.MISSING,
        compare=one.compare,
        repr=one.compare,
        metadata={"doc": doc},
    )
    made.name, made.type, made.kw_only = name, one.type, False
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # noqa: SLF001 - so do its decorators
    return made


def declared_fields(owner: Any) -> dict[str, Field]:
    """Return the fields of a class of named values, by name."""
    if issubclass(owner, DataClass):
        return dict(owner.__data_fields__)
    defaults, types = owner._field_defaults, owner.__annotations__
    return {
        name: Field(defaults.get(name, REQUIRED), type=types.get(name)) for name in owner._fields
    }


def field_values(value: DataClass) -> dict[str, Any]:
    """Return the values of an object by the names of its fields."""
    return {name: getattr(value, name) for name in value.__data_fields__}


def replace(value: Kind, **changes: Any) -> Kind:
    """Return a copy with some values changed. Raises TypeError for the name of no field."""
    return value.__replace__(**changes)


_set: Final = object.__setattr__


def _refuse(value: DataClass, name: str, *_: Any) -> NoReturn:
    raise AttributeError(f"{value.__class__.__name__}.{name} cannot be changed")
