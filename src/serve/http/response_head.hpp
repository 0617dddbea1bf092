#pragma once
#include <cstdint>
#include <ctime>
#include <string>

#include "serve/http/response.hpp"

namespace plimsoll::serve {

/// What of a request decides how its answer is written.
struct Asked {
  bool without_body = false;  ///< HEAD
  bool http_1_0 = false;
  bool keep_alive = true;
  std::string range = {};  ///< the header, of a GET
  std::string if_range = {};
};

/// How an answer goes over the wire: `head`, then the body, the part of the file or the events.
struct Outgoing {
  std::string head;
  bool keep_alive = true;
  int status = 200;
  std::uint64_t file_first = 0;
  std::uint64_t file_bytes = 0;
};

/// Chooses the range of a file, empties the body of a HEAD (after its length has been written) and writes the
/// head. Headers that would break the head or contradict the server's own are left out.
[[nodiscard]] Outgoing outgoing(const Asked& asked, Response& response, std::string_view date);

/// "Sun, 06 Nov 1994 08:49:37 GMT"
[[nodiscard]] std::string http_date(std::time_t time);

}  // namespace plimsoll::serve
