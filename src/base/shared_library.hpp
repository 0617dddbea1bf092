#pragma once
#include <dlfcn.h>

namespace plimsoll {

/// A function of a library that was opened with dlopen(3); false where it has none of that name.
template <class Function>
bool look_up(void* library, const char* name, Function& out) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym(3) says to do
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace plimsoll
