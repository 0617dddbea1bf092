#include "hardware/published.hpp"

#include "base/printable.hpp"
#include "hardware/table_rows.hpp"

namespace plimsoll::hardware {
namespace {

constexpr std::string_view kPublishedTitles =
    "collection,network,pair,precision,quantized_how,input,top1_percent,top5_percent,megabytes,milliseconds,"
    "on,source";

std::string read_published(const std::vector<std::string>& row, std::vector<PublishedAccuracy>& out) {
  if (row.size() != 12) return "has not twelve cells";
  for (const std::string& cell : row)
    if (printable(cell, 300) != cell) return "holds what is no text";
  const auto share = [&](std::size_t i) {
    const auto percent = exact_number<double>(row[i]);
    return percent && *percent > 0 && *percent <= 100 ? std::optional(*percent / 100) : std::nullopt;
  };
  const auto positive = [&](std::size_t i) {
    const auto number = exact_number<double>(row[i]);
    return number && *number > 0 && *number < 1e9 ? number : std::nullopt;
  };
  const auto top1 = share(6), top5 = share(7), megabytes = positive(8), milliseconds = positive(9);
  if (!top1 || !top5 || *top1 > *top5) return "its accuracies are no percentages";
  if (row[3] != "fp32" && row[3] != "int8") return "precision is neither fp32 nor int8";
  if ((!row[8].empty() && !megabytes) || (!row[9].empty() && !milliseconds))
    return "megabytes or milliseconds is no number";
  if (row[1].empty() || row[2].empty() || row[11].empty()) return "network, pair or source is missing";
  out.push_back({row[0], row[1], row[2], row[3], row[4], exact_number<int>(row[5]), *top1, *top5,
                 megabytes ? std::optional(*megabytes * 1e6) : std::nullopt,
                 milliseconds ? std::optional(*milliseconds / 1e3) : std::nullopt, row[10], row[11]});
  return {};
}

}  // namespace

Result<std::vector<PublishedAccuracy>> parse_published(std::string_view text, std::string_view where) {
  std::vector<PublishedAccuracy> out;
  PLIMSOLL_TRY(
      each_row(text, where, kPublishedTitles, [&](const auto& row) { return read_published(row, out); }));
  return out;
}

const Result<std::vector<PublishedAccuracy>>& built_in_published() {
  // A static because the table is part of the program: there is one answer, and it never changes.
  static const Result<std::vector<PublishedAccuracy>> all = [] {
    const std::span<const EmbeddedFile> files = embedded_published();
    auto read = parse_published(files.empty() ? std::string_view() : files.front().contents,
                                "published_accuracy.csv");
    if (!read) read.error().kind = Error::Kind::internal;
    return read;
  }();
  return all;
}

}  // namespace plimsoll::hardware
