#include "store/host_series.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace plimsoll::store {
namespace {

constexpr std::string_view kHardware = "system/", kOn = "system/on/";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

std::string encoded_host(std::string_view host) {
  std::string out;
  for (const char c : host) {
    if (is_plain(c) && (c != '.' || !out.empty()))
      out += c;
    else
      out += fmt::format("_{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> decoded_host(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '_') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 3) return std::nullopt;
    unsigned char byte = 0;
    const auto [end, problem] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
    if (problem != std::errc() || end != text.data() + 3) return std::nullopt;
    out += static_cast<char>(byte);
    text.remove_prefix(3);
  }
  return out;
}

}  // namespace

std::string host_series_name(std::string_view host, std::string_view name) {
  if (host.empty() || !name.starts_with(kHardware) || is_elsewhere(name)) return std::string(name);
  return fmt::format("{}{}/{}", kOn, encoded_host(host), name.substr(kHardware.size()));
}

HostSeries read_host_series(std::string_view metric) {
  HostSeries own{{}, std::string(metric)};
  if (!metric.starts_with(kOn)) return own;
  const std::string_view rest = metric.substr(kOn.size());
  const std::size_t slash = rest.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == rest.size()) return own;
  const std::optional<std::string> host = decoded_host(rest.substr(0, slash));
  // A name that says the same in other words is nobody's.
  if (!host || encoded_host(*host) != rest.substr(0, slash)) return own;
  return {*host, fmt::format("{}{}", kHardware, rest.substr(slash + 1))};
}

bool is_elsewhere(std::string_view metric) {
  return !read_host_series(metric).host.empty();
}

bool is_own_metric(std::string_view metric) {
  return !metric.starts_with(kHardware) && !metric.starts_with("summary/");
}

std::string run_gpu_figure(std::string_view metric) {
  const std::string name = read_host_series(metric).name;
  return name.starts_with("system/run/gpu/") ? name.substr(name.rfind('/') + 1) : std::string();
}

}  // namespace plimsoll::store
