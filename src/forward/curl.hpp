#pragma once
#include <curl/curl.h>

#include "base/error.hpp"

namespace plimsoll::forward {

/// libcurl as far as Plimsoll uses it. It is opened at run time, by who names a server: the program needs it
/// nowhere else, and brings none of the libraries that it needs in turn.
struct Curl {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;  ///< variadic: long, pointer or curl_off_t, and nothing else
  decltype(&::curl_easy_getinfo) information = nullptr;
  decltype(&::curl_easy_strerror) error_text = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;
};

/// Opened and made ready on the first call; an error where it is not installed.
[[nodiscard]] Result<const Curl*> curl();

}  // namespace plimsoll::forward
