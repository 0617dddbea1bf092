#include "dataset/dataset.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "job/fields.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::dataset {
namespace {

using network::DataType;
using Arrays = std::map<std::string, job::StoredArray>;

constexpr std::size_t kMostNamesBytes = std::size_t{16} << 20;

Rows rows_of(const job::StoredArray& array, std::span<const std::byte> file) {
  Rows rows{
      .type = array.type,
      .dims = {array.dims.begin() + 1, array.dims.end()},
      .count = array.dims.front(),
      .bytes = file.subspan(static_cast<std::size_t>(array.offset), static_cast<std::size_t>(array.bytes))};
  rows.row_bytes = rows.count > 0 ? array.bytes / rows.count : 0;
  return rows;
}

Result<Rows> find_rows(const Arrays& arrays, const std::string& name, std::span<const std::byte> file) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) {
    std::vector<std::string> known;
    for (const auto& [other, array] : arrays)
      if (known.size() < 8) known.push_back(quote(other));
    return std::unexpected(
        Error{fmt::format("holds no array {}", quote(name)),
              {},
              known.empty()
                  ? "The file is empty."
                  : fmt::format("It holds {}. Examples are called inputs and labels, those to be tested on "
                                "test_inputs and test_labels.",
                                fmt::join(known, ", "))});
  }
  if (found->second.dims.empty()) return fail("{} is a single number, not examples", quote(name));
  return rows_of(found->second, file);
}

std::int64_t label_at(const Rows& labels, std::int64_t i) {
  std::int64_t label = 0;
  std::memcpy(&label, labels.row(i).data(), sizeof label);
  return label;
}

Status check_labels(const Rows& labels, const std::string& name) {
  if (labels.type == DataType::float32) return {};
  if (labels.type != DataType::int64)
    return fail("{} is {}; labels are int64 (classes), or float32 (numbers to come near to)", quote(name),
                network::name(labels.type));
  if (!labels.dims.empty()) return fail("{} has more than one class for each example", quote(name));
  for (std::int64_t i = 0; i < labels.count; ++i)
    if (const std::int64_t label = label_at(labels, i); label < 0 || label >= kMostClasses)
      return fail("{}: example {} is of class {}, which is not from 0 to {}", quote(name), i, label,
                  kMostClasses - 1);
  return {};
}

Result<Part> find_part(const Arrays& arrays, const std::string& inputs, const std::string& labels,
                       std::span<const std::byte> file) {
  Result<Rows> in = find_rows(arrays, inputs, file), out = find_rows(arrays, labels, file);
  PLIMSOLL_TRY(in);
  PLIMSOLL_TRY(out);
  if (in->type != DataType::uint8 && in->type != DataType::float32 && in->type != DataType::int64)
    return fail("{} is {}; inputs are uint8 (images), float32 or int64", quote(inputs),
                network::name(in->type));
  if (in->count != out->count)
    return fail("there are {} {} and {} {}", in->count, printable(inputs), out->count, printable(labels));
  if (in->count == 0) return fail("{} holds no examples", quote(inputs));
  if (in->row_bytes == 0) return fail("an example of {} holds nothing", quote(inputs));
  PLIMSOLL_TRY(check_labels(*out, labels));
  return Part{*std::move(in), *std::move(out)};
}

Result<std::vector<std::string>> read_class_names(const Arrays& arrays, std::span<const std::byte> file) {
  const auto found = arrays.find(std::string(kClassNames));
  if (found == arrays.end() || found->second.type != DataType::uint8) return std::vector<std::string>();
  const auto bytes = file.subspan(static_cast<std::size_t>(found->second.offset),
                                  static_cast<std::size_t>(found->second.bytes));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of a file that are text
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto parsed = job::parse_within(text, kMostNamesBytes, 2);
  if (!parsed || !parsed->is_array()) return fail("{} is not a JSON list of texts", quote(kClassNames));
  std::vector<std::string> names;
  for (const job::Json& name : *parsed) {
    auto one = job::text_of(name);
    if (!one) return fail("{} is not a JSON list of texts", quote(kClassNames));
    names.push_back(*std::move(one));
  }
  return names;
}

/// Nothing where it is not there, or is of another kind than what Plimsoll writes.
std::vector<double> read_channels(const Arrays& arrays, std::string_view name,
                                  std::span<const std::byte> file) {
  const auto found = arrays.find(std::string(name));
  if (found == arrays.end() || found->second.type != DataType::float64 || found->second.dims.size() != 1)
    return {};
  std::vector<double> values(static_cast<std::size_t>(found->second.dims[0]));
  if (!values.empty())
    std::memcpy(values.data(), file.data() + found->second.offset,
                static_cast<std::size_t>(found->second.bytes));
  return values;
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> dims) {
  return dims.empty() ? "a number" : fmt::format("{}", fmt::join(dims, "x"));
}

std::optional<std::int64_t> Part::classes() const {
  if (labels.type != DataType::int64) return std::nullopt;
  std::int64_t largest = -1;
  for (std::int64_t i = 0; i < labels.count; ++i) largest = std::max(largest, label_at(labels, i));
  return largest + 1;
}

std::optional<std::int64_t> Dataset::classes() const {
  std::optional<std::int64_t> classes = training_.classes();
  if (classes && test_) classes = std::max(*classes, test_->classes().value_or(0));
  return classes;
}

Result<Dataset> Dataset::open(const std::filesystem::path& path, const ArrayNames& names) {
  const auto within = [&path](Error error) {
    return std::unexpected(std::move(error).within(printable(path.string())));
  };
  Dataset out;
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return within(std::move(file).error());
  out.file_ = *std::move(file);
  const std::span<const std::byte> bytes = out.file_.bytes();
  const auto arrays = job::read_safetensors_header(bytes);
  if (!arrays) return within(arrays.error());
  Result<Part> training = find_part(*arrays, names.inputs, names.labels, bytes);
  if (!training) return within(std::move(training).error());
  out.training_ = *std::move(training);
  if (arrays->contains(names.test_inputs) || arrays->contains(names.test_labels)) {
    Result<Part> test = find_part(*arrays, names.test_inputs, names.test_labels, bytes);
    if (!test) return within(std::move(test).error());
    if (test->inputs.dims != out.training_.inputs.dims || test->inputs.type != out.training_.inputs.type)
      return within(
          Error{fmt::format("examples to learn from are {} of {}, those to test on {} of {}",
                            shape_text(out.training_.inputs.dims), network::name(out.training_.inputs.type),
                            shape_text(test->inputs.dims), network::name(test->inputs.type))});
    if (test->labels.dims != out.training_.labels.dims || test->labels.type != out.training_.labels.type)
      return within(Error{"labels to learn from and to test on are of different forms"});
    out.test_ = *std::move(test);
  }
  Result<std::vector<std::string>> class_names = read_class_names(*arrays, bytes);
  if (!class_names) return within(std::move(class_names).error());
  out.class_names_ = *std::move(class_names);
  out.mean_ = read_channels(*arrays, kMean, bytes);
  out.deviation_ = read_channels(*arrays, kDeviation, bytes);
  return out;
}

}  // namespace plimsoll::dataset
