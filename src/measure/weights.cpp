#include "measure/weights.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "job/safetensors.hpp"

namespace plimsoll::measure {
namespace {

using network::Role;
using network::TensorId;

constexpr std::size_t kNamed = 3;  // of those missing
constexpr std::int64_t kAlignment = 64;

std::string absolute_text(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(path, ignored);
  return (absolute.empty() ? path : absolute).string();
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  return dims.empty() ? "a scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

class Finder {
 public:
  Finder(const network::Network& network, onnx::Model* model, const WeightsRequest& request)
      : network_(network), model_(model), request_(request) {}

  Result<Weights> find() {
    if (!request_.file.empty()) {
      auto arrays = job::read_safetensors(request_.file);
      if (!arrays) return std::unexpected(std::move(arrays).error());
      arrays_ = std::move(*arrays);
    }
    for (const network::Graph& graph : network_.graphs)
      for (const TensorId id : graph.weights) PLIMSOLL_TRY(place(id));
    // A Constant's tensor is in no graph's list.
    if (model_ != nullptr)
      for (const onnx::WeightData& stored : model_->weights)
        if (!done_.contains(stored.tensor)) PLIMSOLL_TRY(place(stored.tensor));
    PLIMSOLL_TRY(refuse_missing());
    PLIMSOLL_TRY(finish_gathering());
    out_.random = request_.random || (model_ == nullptr && request_.file.empty());
    out_.source = describe_source();
    if (used_ < arrays_.size())
      out_.notes.push_back(fmt::format("{} of the {} arrays in {} are not of this network",
                                       arrays_.size() - used_, arrays_.size(),
                                       printable(request_.file.string())));
    return std::move(out_);
  }

 private:
  Status place(TensorId id) {
    done_.insert(id);
    const auto found = arrays_.find(std::string(network_.name_of(id)));
    if (found != arrays_.end()) {
      ++used_;
      return place_array(id, found->second);
    }
    // Asked for random weights, what the model learned is left alone; its tables and constants are not.
    const bool drawn = request_.random && network_.tensor(id).role == Role::parameter;
    if (drawn) return {};
    if (model_ != nullptr && model_->find_weight(id) != nullptr) return place_stored(id);
    if (!network_.tensor(id).has_value) missing_.push_back(id);
    return {};
  }

  Status place_array(TensorId id, const job::StoredArray& array) {
    const network::Tensor& tensor = network_.tensor(id);
    const auto wrong = [&](std::string message) {
      return std::unexpected(
          Error{std::move(message),
                fmt::format("{}: {}", printable(request_.file.string()), quote(network_.name_of(id)))});
    };
    std::vector<std::int64_t> dims;
    for (const network::Dim dim : network_.dims_of(tensor)) dims.push_back(dim.exact() ? dim.value() : -1);
    if (array.type != tensor.type)
      return wrong(
          fmt::format("is {}; the network has {}", network::name(array.type), network::name(tensor.type)));
    if (array.dims != dims)
      return wrong(fmt::format("is {}; the network has {}", shape_text(array.dims), shape_text(dims)));
    out_.locations.push_back({id, file_number(absolute_text(request_.file)), array.offset, array.bytes});
    return {};
  }

  Status place_stored(TensorId id) {
    const onnx::Storage storage = model_->find_weight(id)->storage;
    if (storage == onnx::Storage::none) {
      if (!network_.tensor(id).has_value) missing_.push_back(id);
      return {};
    }
    if (storage == onnx::Storage::strings) return {};  // an engine that needs them says that it cannot
    auto place = model_->place_of(id);
    if (!place && storage == onnx::Storage::external) {
      // The file beside the model was not handed over, as `plimsoll export` leaves it.
      if (why_.empty()) why_ = fmt::format(" ({})", place.error().message);
      if (!network_.tensor(id).has_value) missing_.push_back(id);
      return {};
    }
    if (!place) return std::unexpected(std::move(place).error());
    if (*place) {
      stored_ = true;
      out_.locations.push_back(
          {id, file_number(absolute_text((*place)->file)), (*place)->offset, (*place)->length});
      return {};
    }
    return gather(id);
  }

  /// Into one file of our own: typed fields are no contents as in memory.
  Status gather(TensorId id) {
    const Result<onnx::WeightBytes> bytes = model_->bytes_of(id);
    if (!bytes) return std::unexpected(bytes.error());
    if (!out_.gathered) {
      auto folder = TemporaryDirectory::make("plimsoll-weights");
      if (!folder) return std::unexpected(std::move(folder).error());
      out_.gathered = std::move(*folder);
      gathered_path_ = out_.gathered->path() / "gathered";
      gathered_.open(gathered_path_, std::ios::binary);
    }
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a stream takes characters
    gathered_.write(reinterpret_cast<const char*>(bytes->view.data()), std::ssize(bytes->view));
    const std::int64_t padding = (kAlignment - std::ssize(bytes->view) % kAlignment) % kAlignment;
    gathered_.write(std::string(static_cast<std::size_t>(padding), '\0').data(), padding);
    out_.locations.push_back(
        {id, file_number(gathered_path_.string()), gathered_bytes_, std::ssize(bytes->view)});
    gathered_bytes_ += std::ssize(bytes->view) + padding;
    stored_ = true;
    return {};
  }
  Status finish_gathering() {
    if (!out_.gathered) return {};
    gathered_.close();
    if (gathered_) return {};
    return std::unexpected(Error{.message = "cannot write weights gathered from the model",
                                 .where = gathered_path_.string(),
                                 .hint = "Set TMPDIR to a directory with room for them.",
                                 .kind = Error::Kind::machine_lacks});
  }

  /// The zoo has no weights: that it runs with random ones is said, not asked. But a file must be whole.
  Status refuse_missing() const {
    if (missing_.empty() || request_.random) return {};
    if (model_ == nullptr && request_.file.empty()) return {};
    std::vector<std::string> names;
    for (const TensorId id : missing_)
      if (names.size() < kNamed) names.push_back(quote(network_.name_of(id)));
    const std::string more =
        missing_.size() > names.size() ? fmt::format(" and {} more", missing_.size() - names.size()) : "";
    return std::unexpected(Error{
        .message = fmt::format("{} {} no contents: {}{}{}", missing_.size(),
                               missing_.size() == 1 ? "weight has" : "weights have", fmt::join(names, ", "),
                               more, why_),
        .where = request_.file.empty() ? "" : printable(request_.file.string()),
        .hint =
            "--random-weights measures with random ones; --weights FILE.safetensors takes them from a file"});
  }

  [[nodiscard]] std::string describe_source() const {
    std::vector<std::string> parts;
    if (used_ > 0) parts.push_back(request_.file.filename().string());
    if (stored_ && !request_.random) parts.emplace_back("the model");
    if (out_.random) parts.emplace_back("random");
    if (parts.empty()) parts.emplace_back("none");
    return printable(fmt::format("{}", fmt::join(parts, ", ")));
  }

  std::uint32_t file_number(const std::string& path) {
    const auto found = std::ranges::find(out_.files, path);
    if (found != out_.files.end()) return static_cast<std::uint32_t>(found - out_.files.begin());
    out_.files.push_back(path);
    return static_cast<std::uint32_t>(out_.files.size() - 1);
  }

  const network::Network& network_;
  onnx::Model* model_;
  const WeightsRequest& request_;
  Weights out_;
  std::map<std::string, job::StoredArray> arrays_;
  std::set<TensorId> done_;
  std::vector<TensorId> missing_;
  std::string why_;  // the first of them is
  std::size_t used_ = 0;
  bool stored_ = false;
  std::filesystem::path gathered_path_;
  std::ofstream gathered_;
  std::int64_t gathered_bytes_ = 0;
};

}  // namespace

Result<Weights> find_weights(const network::Network& network, onnx::Model* model,
                             const WeightsRequest& request) {
  return Finder(network, model, request).find();
}

}  // namespace plimsoll::measure
