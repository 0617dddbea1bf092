#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "network/data_type.hpp"

/// Examples to learn from, in one flat file: safetensors, so that anyone can read it. The file is mapped, and
/// pages are read as examples are looked at, so that it may be larger than memory.
namespace plimsoll::dataset {

// The arrays of the file. Examples are rows of the first dimension. Of test_* both or neither are there.
inline constexpr std::string_view kInputs = "inputs", kLabels = "labels", kTestInputs = "test_inputs",
                                  kTestLabels = "test_labels";
inline constexpr std::string_view kClassNames = "class_names";  ///< uint8: a JSON list of texts
inline constexpr std::string_view kMean = "channel_mean";       ///< float64, by channel, from 0 to 1
inline constexpr std::string_view kDeviation = "channel_deviation";

/// An array seen as rows.
struct Rows {
  network::DataType type = network::DataType::undefined;
  std::vector<std::int64_t> dims = {};  ///< of one row
  std::int64_t count = 0;
  std::int64_t row_bytes = 0;
  std::span<const std::byte> bytes = {};
  [[nodiscard]] std::span<const std::byte> row(std::int64_t i) const {
    return bytes.subspan(static_cast<std::size_t>(i * row_bytes), static_cast<std::size_t>(row_bytes));
  }
};

struct Part {
  Rows inputs, labels;
  [[nodiscard]] std::int64_t count() const { return inputs.count; }
  /// One more than the largest label, where labels are classes; none where they are numbers to come near to.
  [[nodiscard]] std::optional<std::int64_t> classes() const;
};

/// What the arrays are called, where they are not called as above.
struct ArrayNames {
  std::string inputs{kInputs}, labels{kLabels}, test_inputs{kTestInputs}, test_labels{kTestLabels};
};

class Dataset {
 public:
  /// Checks all that does not need every input to be read: types (inputs uint8, float32 or int64; labels
  /// int64, one per example, from 0 on, or float32), that there are as many labels as inputs, that both parts
  /// are of one form.
  [[nodiscard]] static Result<Dataset> open(const std::filesystem::path& path, const ArrayNames& names = {});

  [[nodiscard]] const Part& training() const { return training_; }
  [[nodiscard]] const std::optional<Part>& test() const { return test_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const { return class_names_; }
  [[nodiscard]] const std::vector<double>& mean() const { return mean_; }
  [[nodiscard]] const std::vector<double>& deviation() const { return deviation_; }
  /// One more than the largest label of both parts.
  [[nodiscard]] std::optional<std::int64_t> classes() const;

 private:
  MappedFile file_;
  Part training_;
  std::optional<Part> test_;
  std::vector<std::string> class_names_;
  std::vector<double> mean_, deviation_;
};

inline constexpr std::int64_t kMostClasses = std::int64_t{1} << 24;

/// "1x28x28"
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> dims);

}  // namespace plimsoll::dataset
