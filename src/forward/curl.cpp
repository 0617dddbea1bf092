#include "forward/curl.hpp"

#include "base/shared_library.hpp"

namespace plimsoll::forward {
namespace {

Result<Curl> load() {
  constexpr const char* kLibraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  void* library = nullptr;
  for (const char* name : kLibraries)
    if (library == nullptr) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return std::unexpected(Error{"the library that speaks HTTP to other servers is missing", kLibraries[0],
                                 "Install libcurl4 (Debian, Ubuntu) or libcurl (others).",
                                 Error::Kind::machine_lacks});
  Curl f;
  const bool whole =
      look_up(library, "curl_global_init", f.global_init) && look_up(library, "curl_easy_init", f.init) &&
      look_up(library, "curl_easy_cleanup", f.cleanup) && look_up(library, "curl_easy_perform", f.perform) &&
      look_up(library, "curl_easy_setopt", f.set) && look_up(library, "curl_easy_getinfo", f.information) &&
      look_up(library, "curl_easy_strerror", f.error_text) &&
      look_up(library, "curl_slist_append", f.append) && look_up(library, "curl_slist_free_all", f.free_list);
  if (!whole || f.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return std::unexpected(Error{"the library that speaks HTTP to other servers cannot be used",
                                 kLibraries[0],
                                 {},
                                 Error::Kind::machine_lacks});
  return f;
}

}  // namespace

Result<const Curl*> curl() {
  // Never closed: a call may be under way until the process ends.
  static const Result<Curl> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace plimsoll::forward
