#pragma once
#define TOML_EXCEPTIONS 0
// toml++ asserts what a file's bytes decide, and with NDEBUG has clang assume it. Without either it comes to
// an error of its own.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
