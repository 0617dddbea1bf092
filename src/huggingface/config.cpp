#include "huggingface/config.hpp"

#include <cmath>

namespace plimsoll::huggingface {
namespace {

/// Far above any figure that a model has, far below where sums of them overflow; each use has its own limit.
constexpr std::int64_t kMostFigure = std::int64_t{1} << 40;

}  // namespace

bool Config::is_null(std::string_view key) const {
  if (!object_.is_object()) return false;
  const auto found = object_.find(key);
  return found != object_.end() && found->is_null();
}

bool Config::is_list(std::string_view key) const {
  return has(key) && fields_.value(key).is_array();
}

std::int64_t Config::whole(std::string_view key, std::int64_t otherwise, std::int64_t least) const {
  if (!has(key)) return otherwise;
  const std::int64_t value = fields_.whole(key, least, kMostFigure);
  return good() ? value : otherwise;
}

double Config::real(std::string_view key, double otherwise) const {
  if (!has(key)) return otherwise;
  const double value = fields_.not_negative(key);
  return good() ? value : otherwise;
}

bool Config::flag(std::string_view key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const bool value = fields_.flag(key);
  return good() ? value : otherwise;
}

std::string Config::text(std::string_view key, std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  std::string value = fields_.text(key);
  return good() ? value : std::string(otherwise);
}

std::vector<std::string> Config::texts(std::string_view key) const {
  return has(key) ? fields_.texts(key) : std::vector<std::string>();
}

std::vector<std::int64_t> Config::wholes(std::string_view key) const {
  return has(key) ? fields_.wholes(key, 0, kMostFigure) : std::vector<std::int64_t>();
}

std::int64_t Config::entries(std::string_view key) const {
  if (!has(key)) return 0;
  const job::Json& value = fields_.value(key);
  if (value.is_object() || value.is_array()) return static_cast<std::int64_t>(value.size());
  complain(key, "is neither an object nor a list");
  return 0;
}

Config Config::section(std::string_view key) const {
  static const job::Json kEmpty = job::Json::object();
  const std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  return {has(key) ? fields_.value(key) : kEmpty, path, error_};
}

}  // namespace plimsoll::huggingface
