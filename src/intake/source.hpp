#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "network/data_type.hpp"

/// Examples in the files in which people have them, brought into the one form that is learned from
/// (dataset/dataset.hpp).
namespace plimsoll::intake {

/// Gives the examples of a part one after the other.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// The next example, of as many bytes as it has.
  [[nodiscard]] virtual Status next(std::span<std::byte> row) = 0;
  /// After the last one: fails where there would be more.
  [[nodiscard]] virtual Status end() { return {}; }

 protected:
  RowReader() = default;
  RowReader(const RowReader&) = default;
  RowReader& operator=(const RowReader&) = default;
};

/// What an example is: "uint8 1x28x28".
struct Form {
  network::DataType type = network::DataType::undefined;  ///< uint8, float32 or int64
  std::vector<std::int64_t> dims = {};
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] bool is_image() const { return type == network::DataType::uint8 && dims.size() == 3; }
  friend bool operator==(const Form&, const Form&) = default;
};

/// Classes, or numbers to come near to. Held in memory: a few bytes for an example.
struct Labels {
  network::DataType type = network::DataType::int64;  ///< or float32
  std::vector<std::int64_t> dims = {};                ///< of one example's
  std::vector<std::byte> bytes = {};
};

struct Part {
  Form form;
  std::int64_t count = 0;
  std::unique_ptr<RowReader> inputs;
  Labels labels;
};

struct Source {
  Part training;
  std::optional<Part> test = {};
  std::vector<std::string> class_names = {};
};

/// What is asked of images: nothing asked, nothing done.
struct ImageRequest {
  std::optional<std::int64_t> channels = {};  ///< 1 or 3
  std::optional<std::int64_t> height = {}, width = {};
  friend bool operator==(const ImageRequest&, const ImageRequest&) = default;
};

/// What a person named: a folder or a file, for some forms with a file of labels.
struct Request {
  std::filesystem::path path;
  std::filesystem::path labels = {};
  std::filesystem::path test = {}, test_labels = {};
  ImageRequest images = {};
  /// Names of classes in the order of their numbers, where another data set has them: folders of images are
  /// numbered so, and need not have all.
  std::vector<std::string> classes = {};
};

/// Finds out of what form it is and checks what can be without reading every example. See
/// docs/commands/train.md for the forms.
[[nodiscard]] Result<Source> open_source(const Request& request);

inline constexpr std::int64_t kMostSide = 1 << 14;  ///< of an image
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
inline constexpr std::int64_t kMostExamples = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostExampleBytes = std::int64_t{1} << 31;

// The forms, each by its file; for tests and for open_source.

/// The files that MNIST came in: https://yann.lecun.com/exdb/mnist. Bytes only.
[[nodiscard]] Result<Part> open_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

/// CIFAR's binary form: https://www.cs.toronto.edu/~kriz/cifar.html. A record is `label_bytes` labels, of
/// which the last counts, and an image.
[[nodiscard]] Result<Part> open_cifar(const std::vector<std::filesystem::path>& files, int label_bytes);

/// NumPy's: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
[[nodiscard]] Result<Part> open_npy(const std::filesystem::path& inputs, const std::filesystem::path& labels);

/// A folder for each class, with PNG and JPEG files. `classes`: names in the order of their numbers.
[[nodiscard]] Result<std::vector<std::string>> class_folders(const std::filesystem::path& folder);
[[nodiscard]] Result<Part> open_image_folder(const std::filesystem::path& folder,
                                             const std::vector<std::string>& classes,
                                             const ImageRequest& images);

}  // namespace plimsoll::intake
