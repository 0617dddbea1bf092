#include "intake/source.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "dataset/dataset.hpp"
#include "intake/image_file.hpp"

namespace plimsoll::intake {
namespace {

using std::filesystem::path;

constexpr std::size_t kMostNamesBytes = std::size_t{1} << 20;

std::optional<path> file_in(const path& folder, std::initializer_list<std::string_view> names) {
  std::error_code ignored;
  for (const std::string_view name : names)
    for (const std::string_view packed : {"", ".gz"})
      if (path file = folder / (std::string(name) + std::string(packed));
          std::filesystem::is_regular_file(file, ignored))
        return file;
  return std::nullopt;
}

/// One name per line; nothing where the file is missing or cannot be read, since names only make answers
/// easier to read.
std::vector<std::string> names_in(const std::optional<path>& file) {
  std::vector<std::string> names;
  const auto text = file ? read_file(*file, kMostNamesBytes) : Result<std::string>(std::string());
  if (!text) return names;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    std::string_view line(text->data() + at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) names.emplace_back(line);
    at = end + 1;
  }
  return names;
}

Result<std::optional<Source>> idx_folder(const path& folder) {
  const auto images = file_in(folder, {"train-images-idx3-ubyte", "train-images.idx3-ubyte"});
  const auto labels = file_in(folder, {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte"});
  if (!images || !labels) return std::nullopt;
  Result<Part> training = open_idx(*images, *labels);
  PLIMSOLL_TRY(training);
  Source source{.training = *std::move(training)};
  const auto test_images =
      file_in(folder, {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", "test-images-idx3-ubyte"});
  const auto test_labels =
      file_in(folder, {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte", "test-labels-idx1-ubyte"});
  if (test_images && test_labels) {
    Result<Part> test = open_idx(*test_images, *test_labels);
    PLIMSOLL_TRY(test);
    source.test = *std::move(test);
  }
  return source;
}

Result<std::optional<Source>> cifar_folder(const path& folder) {
  std::vector<path> batches;
  for (int i = 1; i <= 5; ++i)
    if (const auto file = file_in(folder, {fmt::format("data_batch_{}.bin", i)})) batches.push_back(*file);
  const bool hundred = batches.empty();
  if (hundred)
    if (const auto file = file_in(folder, {"train.bin"})) batches.push_back(*file);
  if (batches.empty()) return std::nullopt;
  const int label_bytes = hundred ? 2 : 1;
  Result<Part> training = open_cifar(batches, label_bytes);
  PLIMSOLL_TRY(training);
  Source source{.training = *std::move(training)};
  if (const auto file = file_in(folder, {hundred ? "test.bin" : "test_batch.bin"})) {
    Result<Part> test = open_cifar({*file}, label_bytes);
    PLIMSOLL_TRY(test);
    source.test = *std::move(test);
  }
  source.class_names = names_in(file_in(folder, {"batches.meta.txt", "fine_label_names.txt"}));
  return source;
}

Result<std::optional<Source>> npy_folder(const path& folder) {
  const auto inputs = file_in(folder, {"inputs.npy", "x_train.npy", "train_images.npy"});
  const auto labels = file_in(folder, {"labels.npy", "y_train.npy", "train_labels.npy"});
  if (!inputs || !labels) return std::nullopt;
  Result<Part> training = open_npy(*inputs, *labels);
  PLIMSOLL_TRY(training);
  Source source{.training = *std::move(training)};
  const auto test_inputs = file_in(folder, {"test_inputs.npy", "x_test.npy", "test_images.npy"});
  const auto test_labels = file_in(folder, {"test_labels.npy", "y_test.npy"});
  if (test_inputs && test_labels) {
    Result<Part> test = open_npy(*test_inputs, *test_labels);
    PLIMSOLL_TRY(test);
    source.test = *std::move(test);
  }
  return source;
}

Result<Source> image_folders(const Request& request) {
  const path& folder = request.path;
  const ImageRequest& images = request.images;
  std::error_code ignored;
  path training = folder;
  std::optional<path> test;
  if (std::filesystem::is_directory(folder / "train", ignored)) {
    training = folder / "train";
    for (const std::string_view name : {"test", "val", "validation"})
      if (!test && std::filesystem::is_directory(folder / name, ignored)) test = folder / name;
  }
  Result<std::vector<std::string>> classes = class_folders(training);
  PLIMSOLL_TRY(classes);
  if (classes->size() < 2 && (classes->empty() || request.classes.empty()))
    return std::unexpected(Error{"is of no form that can be learned from", printable(folder.string()),
                                 "A folder holds MNIST's IDX files, CIFAR's binary files, NumPy's "
                                 "(x_train.npy, y_train.npy), or a folder "
                                 "of PNG and JPEG files for each class."});
  if (!request.classes.empty()) classes = request.classes;
  Result<Part> part = open_image_folder(training, *classes, images);
  PLIMSOLL_TRY(part);
  Source source{.training = *std::move(part), .class_names = *classes};
  if (test) {
    Result<Part> tested = open_image_folder(*test, *classes, images);
    PLIMSOLL_TRY(tested);
    source.test = *std::move(tested);
  }
  return source;
}

Result<Source> from_folder(const Request& request) {
  for (auto* const find : {idx_folder, cifar_folder, npy_folder}) {
    auto found = find(request.path);
    if (!found) return std::unexpected(std::move(found).error());
    if (*found) return *std::move(*found);
  }
  return image_folders(request);
}

Result<Part> from_files(const path& inputs, const path& labels) {
  if (labels.empty())
    return std::unexpected(
        Error{"holds examples without labels", printable(inputs.string()), "--labels FILE names theirs."});
  const std::string name = inputs.filename().string();
  if (name.ends_with(".npy") || name.ends_with(".npy.gz")) return open_npy(inputs, labels);
  return open_idx(inputs, labels);
}

Result<Source> from_file(const Request& request) {
  const std::string name = request.path.filename().string();
  if (name.ends_with(".bin")) {
    Result<Part> part = open_cifar({request.path}, 1);
    PLIMSOLL_TRY(part);
    return Source{.training = *std::move(part)};
  }
  Result<Part> training = from_files(request.path, request.labels);
  PLIMSOLL_TRY(training);
  Source source{.training = *std::move(training)};
  if (!request.test.empty()) {
    Result<Part> test = from_files(request.test, request.test_labels);
    PLIMSOLL_TRY(test);
    source.test = *std::move(test);
  }
  return source;
}

/// Images of any form as asked; those of folders are already when they are read.
class AskedRows final : public RowReader {
 public:
  AskedRows(std::unique_ptr<RowReader> inner, const Form& form, ImageRequest request)
      : inner_(std::move(inner)), form_(form), request_(request) {}
  Status next(std::span<std::byte> row) override {
    Picture picture{.channels = form_.dims[0], .height = form_.dims[1], .width = form_.dims[2]};
    picture.values.resize(static_cast<std::size_t>(form_.bytes()));
    PLIMSOLL_TRY(inner_->next(std::as_writable_bytes(std::span(picture.values))));
    const Picture asked = as_asked(std::move(picture), request_);
    std::ranges::copy(std::as_bytes(std::span(asked.values)), row.begin());
    return {};
  }
  Status end() override { return inner_->end(); }

 private:
  std::unique_ptr<RowReader> inner_;
  Form form_;
  ImageRequest request_;
};

Status ask(Part& part, const ImageRequest& request) {
  if (request == ImageRequest()) return {};
  if (!part.form.is_image())
    return fail("examples of {} are no images: --image-size and --channels are not for them",
                dataset::shape_text(part.form.dims));
  if (part.form.dims[0] != 1 && part.form.dims[0] != 3)
    return fail("images of {} channels are neither scaled nor coloured", part.form.dims[0]);
  Form asked = part.form;
  if (request.channels) asked.dims[0] = *request.channels;
  if (request.height && request.width) {
    asked.dims[1] = *request.height;
    asked.dims[2] = *request.width;
  }
  if (asked == part.form) return {};
  part.inputs = std::make_unique<AskedRows>(std::move(part.inputs), part.form, request);
  part.form = std::move(asked);
  return {};
}

}  // namespace

std::int64_t Form::bytes() const {
  std::int64_t bytes = network::bits(type) / 8;
  for (const std::int64_t dim : dims) bytes *= dim;
  return bytes;
}

Result<Source> open_source(const Request& request) {
  std::error_code problem;
  const auto facts = std::filesystem::status(request.path, problem);
  if (!std::filesystem::exists(facts))
    return std::unexpected(Error{"is not there", printable(request.path.string())});
  Result<Source> source = std::filesystem::is_directory(facts) ? from_folder(request) : from_file(request);
  PLIMSOLL_TRY(source);
  PLIMSOLL_TRY(ask(source->training, request.images));
  if (source->test) {
    PLIMSOLL_TRY(ask(*source->test, request.images));
    if (source->test->form != source->training.form)
      return std::unexpected(Error{fmt::format("examples to learn from are {}, those to test on {}",
                                               dataset::shape_text(source->training.form.dims),
                                               dataset::shape_text(source->test->form.dims)),
                                   printable(request.path.string())});
  }
  if (source->training.count == 0 || (source->test && source->test->count == 0))
    return std::unexpected(Error{"holds no examples", printable(request.path.string())});
  return source;
}

}  // namespace plimsoll::intake
