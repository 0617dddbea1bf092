#pragma once
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "serve/http/request.hpp"
#include "serve/http/response.hpp"

namespace plimsoll::serve::mlflow {

/// The path below which MLflow's own pages are, and what they ask for.
inline constexpr std::string_view kPages = "/mlflow";

/// MLflow's own pages, of an MLflow that is installed on this machine. They are files of somebody else's:
/// only regular ones below the folder are given out, no symbolic link is followed, and what runs in them may
/// load nothing from elsewhere.
class Pages {
 public:
  /// `folder`: of an installed MLflow (site-packages/mlflow), what it is in, or the built pages themselves.
  [[nodiscard]] static Result<Pages> in(const std::filesystem::path& folder);

  [[nodiscard]] Response index() const { return file("index.html"); }
  /// A file below the folder; 404 where there is none.
  [[nodiscard]] Response file(std::string_view path) const;

 private:
  explicit Pages(std::filesystem::path root) : root_(std::move(root)) {}
  std::filesystem::path root_;
};

/// What a page's path is without what all of them begin with: "/mlflow/get-artifact" is "/get-artifact". The
/// pages themselves stay where they are.
[[nodiscard]] std::string_view below_pages(std::string_view path);

}  // namespace plimsoll::serve::mlflow
