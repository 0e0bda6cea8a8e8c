"""How the files of each system beside Every Eval Ever are checked, one module per system."""
