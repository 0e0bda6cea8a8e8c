/* How functions are marked that Python calls. */

#ifndef EVALSTREAM_EXPORT_H
#define EVALSTREAM_EXPORT_H

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#endif
