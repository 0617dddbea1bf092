#include "onnx/external_location.hpp"

#include <algorithm>
#include <system_error>

#include "base/printable.hpp"

namespace plimsoll::onnx {
namespace {

std::unexpected<Error> outside(std::string_view location) {
  Error error{fmt::format("external data {} is outside the model's folder", quote(location))};
  error.hint = "Plimsoll reads external data only beside the model or below it: move the data there.";
  return std::unexpected(std::move(error));
}

}  // namespace

Status check_location(std::string_view location) {
  if (location.find('\0') != std::string_view::npos)
    return fail("external data {} is not a path", quote(location));
  if (location.starts_with('/') || location.starts_with('\\') || (location.size() > 1 && location[1] == ':'))
    return outside(location);
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t end = 0; end <= location.size(); ++end) {
    if (end < location.size() && location[end] != '/' && location[end] != '\\') continue;
    const std::string_view part = location.substr(begin, end - begin);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0) return outside(location);
    begin = end + 1;
  }
  return {};
}

Result<std::filesystem::path> resolve_location(const std::filesystem::path& folder,
                                               std::string_view location) {
  PLIMSOLL_TRY(check_location(location));
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(folder, error);
  if (error) return fail("cannot find the model's folder: {}", error.message());
  std::filesystem::path file = std::filesystem::canonical(folder / location, error);
  if (error) return fail("external data {}: {}", quote(location), error.message());
  const auto [rest, unused] = std::ranges::mismatch(root, file);
  if (rest != root.end()) return outside(location);
  return file;
}

}  // namespace plimsoll::onnx
