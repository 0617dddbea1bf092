#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/request.hpp"
#include "serve/http/response.hpp"

namespace plimsoll::serve::dashboard {

/// The files of the page (`web/`), as they are compiled into the program, or, for whoever works on the page,
/// as they stand in a folder at this moment.
class Bundle {
 public:
  explicit Bundle(std::optional<std::filesystem::path> folder = {});

  /// The file of that name ("app.css"), compressed where the client takes it so, 304 where it has it already,
  /// 404 where there is none. Every answer forbids other sites' scripts, frames and forms.
  [[nodiscard]] Response answer(std::string_view name, const Request& request) const;

 private:
  struct File {
    std::string_view contents;
    std::string compressed;  ///< by gzip; empty where that saves nothing
    std::string tag;
  };
  [[nodiscard]] Response answer_from_folder(std::string_view name, const Request& request) const;

  std::optional<std::filesystem::path> folder_;
  std::map<std::string_view, File> files_;
};

/// Whether a name can be that of a file of the page: letters, digits, "-", "_" and "." that does not lead.
[[nodiscard]] bool is_page_file(std::string_view name);

/// The headers with which any browser keeps other sites' pages and scripts off an answer that it shows.
void guard_page(Response& response);

}  // namespace plimsoll::serve::dashboard
