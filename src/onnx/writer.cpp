#include "onnx/writer.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <protozero/varint.hpp>
#include <unistd.h>

#include "base/printable.hpp"
#include "onnx/external_location.hpp"
#include "onnx/graph_writer.hpp"
#include "onnx/roles.hpp"
#include "onnx/schema.hpp"

namespace plimsoll::onnx {
namespace {

// What libraries of the last years read; only the 8- and 4-bit types need a later one.
constexpr std::int64_t kUsualIrVersion = 8, kIrVersionOfSmallTypes = 10;

/// A file that appears under its name only when it is complete.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path) : path_(path) {
    static std::atomic<unsigned> counter = 0;
    temporary_ = path;
    temporary_ += fmt::format(".{}.{}.tmp", ::getpid(), counter++);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) error_ = errno;
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (error_ == 0 && !bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n > 0)
        bytes = bytes.subspan(static_cast<std::size_t>(n));
      else if (n == 0 || errno != EINTR)
        error_ = n == 0 ? EIO : errno;
    }
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  [[nodiscard]] Status status() const {
    if (error_ != 0) return fail("cannot write it: {}", std::strerror(error_));
    return {};
  }
  /// What is on disk survives a machine that loses power.
  void sync() {
    if (error_ == 0 && ::fsync(fd_) != 0) error_ = errno;
  }
  [[nodiscard]] Status finish() {
    PLIMSOLL_TRY(status());
    // The close tells of errors that a delayed write had.
    const int closed = ::close(std::exchange(fd_, -1));
    if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int why = errno;
      ::unlink(temporary_.c_str());
      return fail("cannot write it: {}", std::strerror(why));
    }
    return {};
  }

 private:
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  int error_ = 0;
};

/// A field's key and length; what protozero writes, but for lengths beyond 32 bits too.
std::string header(std::uint32_t number, std::uint64_t length) {
  std::string out;
  protozero::add_varint_to_buffer(&out, number << 3U | 2U);
  protozero::add_varint_to_buffer(&out, length);
  return out;
}

bool has_small_types(const network::Network& network) {
  for (const network::Tensor& t : network.tensors)
    if (t.type >= network::DataType::float8e4m3fn) return true;
  return false;
}

std::string model_head(const network::Network& network) {
  std::string out;
  protozero::pbf_writer writer(out);
  writer.add_int64(schema::model::kIrVersion,
                   has_small_types(network) ? kIrVersionOfSmallTypes : kUsualIrVersion);
  writer.add_string(schema::model::kProducerName, schema::kOwnProducer);
  for (const network::Opset& opset : network.opsets) {
    protozero::pbf_writer import(writer, schema::model::kOpsetImport);
    import.add_string(schema::opset::kDomain, opset.domain);
    import.add_int64(schema::opset::kVersion, opset.version);
  }
  if (const std::string roles = list_roles(network); !roles.empty()) {
    protozero::pbf_writer entry(writer, schema::model::kMetadata);
    entry.add_string(schema::entry::kKey, kRolesKey.data(), kRolesKey.size());
    entry.add_string(schema::entry::kValue, roles);
  }
  return out;
}

Status write_tensor(const PendingTensor& tensor, const network::Network& network, const WeightSource& weights,
                    AtomicFile& file) {
  file.write(tensor.message);
  if (tensor.raw_bytes == 0) return file.status();
  const Result<WeightBytes> bytes = weights(tensor.tensor);
  if (!bytes) return std::unexpected(bytes.error());
  if (std::ssize(bytes->view) != tensor.raw_bytes)
    return fail("tensor {} has {} bytes; its type and dimensions need {}",
                quote(network.name_of(tensor.tensor)), bytes->view.size(), tensor.raw_bytes);
  file.write(header(schema::tensor::kRaw, bytes->view.size()));
  file.write(bytes->view);
  return file.status();
}

Status write_model(const network::Network& network, const WeightSource& weights,
                   const ExternalWeights* external, const std::filesystem::path& path) {
  const std::string location = path.filename().string() + ".data";
  GraphWriter writer(network, weights, location, external);
  const Result<std::string> graph = writer.main_graph();
  if (!graph) return std::unexpected(graph.error());
  const std::vector<PendingTensor> initializers = writer.initializers();

  // A message's length stands before it, so all lengths are added up before the first byte is written.
  const auto length = [](const PendingTensor& t) {
    const auto raw = static_cast<std::uint64_t>(t.raw_bytes);
    return t.message.size() + (raw == 0 ? 0 : header(schema::tensor::kRaw, raw).size() + raw);
  };
  std::uint64_t total = graph->size();
  for (const PendingTensor& t : initializers)
    total += header(schema::graph::kInitializer, length(t)).size() + length(t);

  AtomicFile file(path);
  PLIMSOLL_TRY(file.status());
  file.write(model_head(network));
  file.write(header(schema::model::kGraph, total));
  file.write(*graph);
  for (const PendingTensor& t : initializers) {
    file.write(header(schema::graph::kInitializer, length(t)));
    PLIMSOLL_TRY(write_tensor(t, network, weights, file));
  }
  if (external != nullptr) file.sync();
  return file.finish();
}

Status within(const std::filesystem::path& path, Status status) {
  if (!status) return std::unexpected(std::move(status).error().within(path.string()));
  return status;
}

}  // namespace

Status write(const network::Network& network, const WeightSource& weights,
             const std::filesystem::path& path) {
  return within(path, write_model(network, weights, nullptr, path));
}

Status write(const network::Network& network, const WeightSource& weights, const ExternalWeights& external,
             const std::filesystem::path& path) {
  if (Status checked = check_location(external.location); !checked) return within(path, std::move(checked));
  return within(path, write_model(network, weights, &external, path));
}

WeightSource weights_of(Model& model) {
  return [&model](network::TensorId id) { return model.bytes_of(id); };
}

}  // namespace plimsoll::onnx
