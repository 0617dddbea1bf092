#include "network/zoo/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace plimsoll::network::zoo {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string accepted(const Entry& entry) {
  std::string list;
  for (const Option& option : entry.options) {
    if (!list.empty()) list += ", ";
    list += option.name;
  }
  return fmt::format("{} accepts: {}", entry.name, list.empty() ? "no options" : list);
}

// "3x224x224" or "224x224", into `shape`; the channels stay where only two sides are given.
Status parse_image(const Option& option, std::string_view text, ImageShape& shape) {
  std::vector<std::int64_t> sides;
  for (std::string_view rest = text; sides.size() <= 3;) {
    const std::size_t cross = rest.find_first_of("xX");
    const auto side = number<std::int64_t>(rest.substr(0, cross));
    if (!side) return fail("input={} is not channels x height x width, like 3x224x224", text);
    sides.push_back(*side);
    if (cross == std::string_view::npos) break;
    rest.remove_prefix(cross + 1);
  }
  if (sides.size() != 2 && sides.size() != 3)
    return fail("input={} is not channels x height x width, like 3x224x224", text);
  const auto high = static_cast<std::int64_t>(option.high);
  if (std::ranges::any_of(sides, [high](std::int64_t side) { return side < 1 || side > high; }))
    return fail("input={}: every extent must be 1 to {}", text, high);
  if (sides.size() == 3) shape.channels = sides[0];
  shape.height = sides[sides.size() - 2];
  shape.width = sides[sides.size() - 1];
  return {};
}

}  // namespace

const Arguments::Value* Arguments::find(std::string_view name) const {
  const auto found = std::ranges::find(values_, name, &Value::name);
  return found == values_.end() ? nullptr : &*found;
}

std::int64_t Arguments::integer(std::string_view name, std::int64_t otherwise) const {
  const Value* value = find(name);
  return value ? value->integer : otherwise;
}

double Arguments::real(std::string_view name, double otherwise) const {
  const Value* value = find(name);
  return value ? value->real : otherwise;
}

Status Arguments::accept(const Option& option, std::string_view text) {
  Value value{option.name};
  switch (option.kind) {
    case Option::Kind::image: PLIMSOLL_TRY(parse_image(option, text, image_)); break;
    case Option::Kind::integer: {
      const auto parsed = number<std::int64_t>(text);
      if (!parsed || static_cast<double>(*parsed) < option.low || static_cast<double>(*parsed) > option.high)
        return fail("{}={} is not a whole number from {} to {:.0f}", option.name, text, option.low, option.high);
      value.integer = *parsed;
      value.real = static_cast<double>(*parsed);
      break;
    }
    case Option::Kind::real: {
      const auto parsed = number<double>(text);
      if (!parsed || !(*parsed >= option.low && *parsed <= option.high))  // also where it is not a number
        return fail("{}={} is not a number from {} to {}", option.name, text, option.low, option.high);
      value.real = *parsed;
      break;
    }
  }
  values_.push_back(value);
  return {};
}

Result<Arguments> Arguments::parse(const Entry& entry, std::string_view text) {
  Arguments arguments;
  if (std::ranges::find(entry.options, Option::Kind::image, &Option::kind) != entry.options.end())
    PLIMSOLL_TRY(parse_image(kInput, entry.input, arguments.image_));
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return std::unexpected(Error{fmt::format("'{}' is not an option of the form name=value", item), {}, accepted(entry)});
    const std::string_view name = trimmed(item.substr(0, equals));
    const auto option = std::ranges::find(entry.options, name, &Option::name);
    if (option == entry.options.end())
      return std::unexpected(Error{fmt::format("{} has no option '{}'", entry.name, name), {}, accepted(entry)});
    if (arguments.has(name)) return fail("the option {} is given twice", name);
    PLIMSOLL_TRY(arguments.accept(*option, trimmed(item.substr(equals + 1))));
  }
  if (arguments.has(kChannels.name)) arguments.image_.channels = arguments.integer(kChannels.name, 3);
  return arguments;
}

}  // namespace plimsoll::network::zoo
