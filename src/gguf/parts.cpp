#include "gguf/parts.hpp"

#include <charconv>

#include "base/printable.hpp"

namespace plimsoll::gguf {
namespace {

constexpr std::int64_t kMostParts = 4096;
constexpr std::string_view kSuffix = ".gguf", kBetween = "-of-";
constexpr std::size_t kDigits = 5;

std::optional<std::int64_t> five_digits(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.size() != kDigits || problem != std::errc() || end != text.data() + text.size() || n < 0)
    return std::nullopt;
  return n;
}

}  // namespace

std::optional<PartName> part_name(std::string_view file_name) {
  constexpr std::size_t kTail = 1 + kDigits + kBetween.size() + kDigits + kSuffix.size();
  if (file_name.size() <= kTail || !file_name.ends_with(kSuffix)) return std::nullopt;
  const std::size_t begin = file_name.size() - kTail;
  const std::string_view tail = file_name.substr(begin);
  const auto number = five_digits(tail.substr(1, kDigits));
  const auto count = five_digits(tail.substr(1 + kDigits + kBetween.size(), kDigits));
  if (tail.front() != '-' || tail.substr(1 + kDigits, kBetween.size()) != kBetween || !number || !count ||
      *number < 1 || *number > *count)
    return std::nullopt;
  return PartName{std::string(file_name.substr(0, begin)), *number, *count};
}

std::string file_name(const PartName& part) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", part.stem, part.number, part.count);
}

Result<PartPlace> part_place(const Metadata& metadata) {
  PartPlace place;
  const auto number = metadata.whole("split.no"), count = metadata.whole("split.count"),
             tensors = metadata.whole("split.tensors.count");
  PLIMSOLL_TRY(number);
  PLIMSOLL_TRY(count);
  PLIMSOLL_TRY(tensors);
  place.count = std::max<std::int64_t>(count->value_or(1), 1);
  place.number = number->value_or(0);
  place.tensors = *tensors;
  if (place.count > kMostParts)
    return fail("says to be one of {} parts; {} are too many", place.count, kMostParts);
  if (place.number >= place.count) return fail("says to be part {} of {}", place.number + 1, place.count);
  return place;
}

Result<std::vector<std::filesystem::path>> all_parts(const std::filesystem::path& path,
                                                     const PartPlace& place) {
  if (place.count == 1) return std::vector<std::filesystem::path>();
  std::optional<PartName> name = part_name(path.filename().string());
  if (!name || name->count != place.count || name->number != place.number + 1) {
    Error error{
        fmt::format("is part {} of a file in {} parts, but is not named so: the others cannot be found",
                    place.number + 1, place.count)};
    error.hint = fmt::format("Name the parts {}, and so on, in one folder.",
                             file_name({"NAME", place.number + 1, place.count}));
    return std::unexpected(std::move(error));
  }
  std::vector<std::filesystem::path> paths;
  for (name->number = 1; name->number <= name->count; ++name->number)
    paths.push_back(path.parent_path() / file_name(*name));
  return paths;
}

}  // namespace plimsoll::gguf
