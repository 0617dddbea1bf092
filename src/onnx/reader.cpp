#include "onnx/reader.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "network/builder.hpp"
#include "network/weights.hpp"
#include "onnx/graph_reader.hpp"
#include "onnx/roles.hpp"
#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

namespace plimsoll::onnx {
namespace {

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 23;
constexpr std::size_t kLongestProducer = 256;

/// The parts of a ModelProto; views into the file.
struct Parts {
  std::string_view graph, roles;
  bool has_graph = false;
  std::vector<Function::Import> imports;
  Functions functions;
};

std::string_view graph_name(std::string_view graph) {
  for (Fields f(graph); f.next();)
    if (f.key() == bytes_field(schema::graph::kName)) return f.bytes();
  return {};
}

}  // namespace

/// Builds a Model from the bytes of a ModelProto.
class ModelReader {
 public:
  ModelReader(Model& model, std::string_view bytes) : model_(model), bytes_(bytes) {}

  Status read() {
    PLIMSOLL_TRY(read_parts());
    if (!parts_.has_graph) return fail("is not an ONNX model: it has no graph");
    builder_.emplace(graph_name(parts_.graph).substr(0, kLongestProducer));
    import();
    graph_.emplace(*builder_, parts_.functions, model_.weights, model_.notes,
                   model_.producer_name == schema::kOwnProducer);
    PLIMSOLL_TRY(graph_->read_main(parts_.graph));
    model_.graph_bytes = static_cast<std::int64_t>(bytes_.size()) - graph_->raw_bytes();
    model_.network = std::move(*builder_).finish();
    network::classify_weights(model_.network);
    return apply_roles(parts_.roles, model_.network);
  }

  /// The one place where the wire format's exceptions become Errors.
  static Result<Model> read(std::string_view bytes, Model model) {
    if (bytes.empty()) return fail("is empty");
    ModelReader reader(model, bytes);
    try {
      PLIMSOLL_TRY(reader.read());
    } catch (const protozero::end_of_buffer_exception&) {
      return std::unexpected(
          Error{"ends too early: the file is cut short, or is not an ONNX model", reader.place()});
    } catch (const protozero::exception&) {
      return std::unexpected(Error{"is damaged, or is not an ONNX model", reader.place()});
    } catch (const std::bad_alloc&) {
      return std::unexpected(
          Error{"there is not enough memory to read it", {}, {}, Error::Kind::machine_lacks});
    }
    return model;
  }

  static void own(Model& model, MappedFile file, const std::filesystem::path& path) {
    model.file_ = std::move(file);
    model.folder_ = path.has_parent_path() ? path.parent_path() : ".";
    model.path_ = path;
  }

 private:
  [[nodiscard]] std::string place() const { return graph_ ? graph_->place() : ""; }

  Status read_parts() {
    for (Fields f(bytes_); f.next();) {
      switch (f.key()) {
        case varint_field(schema::model::kIrVersion): model_.ir_version = f.integer(); break;
        case bytes_field(schema::model::kProducerName):
          model_.producer_name = f.bytes().substr(0, kLongestProducer);
          break;
        case bytes_field(schema::model::kProducerVersion):
          model_.producer_version = f.bytes().substr(0, kLongestProducer);
          break;
        case bytes_field(schema::model::kGraph):
          if (parts_.has_graph) return fail("is damaged: it has two main graphs");
          parts_.graph = f.bytes();
          parts_.has_graph = true;
          break;
        case bytes_field(schema::model::kOpsetImport):
          parts_.imports.push_back(read_import(f.bytes()));
          break;
        case bytes_field(schema::model::kFunctions): PLIMSOLL_TRY(parts_.functions.add(f.bytes())); break;
        case bytes_field(schema::model::kMetadata): read_metadata(f.bytes()); break;
        default: break;
      }
    }
    return {};
  }

  static Function::Import read_import(std::string_view message) {
    Function::Import import;
    for (Fields f(message); f.next();) {
      if (f.key() == bytes_field(schema::opset::kDomain)) import.domain = plain_domain(f.bytes());
      if (f.key() == varint_field(schema::opset::kVersion)) import.version = f.integer();
    }
    return import;
  }

  void read_metadata(std::string_view message) {
    std::string_view key, value;
    for (Fields f(message); f.next();) {
      if (f.key() == bytes_field(schema::entry::kKey)) key = f.bytes();
      if (f.key() == bytes_field(schema::entry::kValue)) value = f.bytes();
    }
    if (key == kRolesKey) parts_.roles = value;
  }

  void import() {
    for (const Function::Import& import : parts_.imports) {
      builder_->opset(import.domain, import.version);
      if (import.domain.empty() && (import.version < kOldestOpset || import.version > kNewestOpset))
        model_.notes.push_back(fmt::format("uses ONNX operator set {}; Plimsoll knows {} to {}",
                                           import.version, kOldestOpset, kNewestOpset));
    }
    // A function may use a domain that the model itself does not; once inlined, the model does.
    std::vector<std::string_view> known;
    for (const Function::Import& import : parts_.imports) known.push_back(import.domain);
    for (const auto& [key, function] : parts_.functions.all())
      for (const Function::Import& import : function.imports)
        if (std::ranges::find(known, import.domain) == known.end()) {
          known.push_back(import.domain);
          builder_->opset(import.domain, import.version);
        }
  }

  Model& model_;
  std::string_view bytes_;
  // Members, not locals of read(): when an exception has unwound that, place() still tells where it was.
  Parts parts_;
  std::optional<network::Builder> builder_;
  std::optional<GraphReader> graph_;
};

Result<Model> read_bytes(std::span<const std::byte> bytes, std::string_view origin) {
  Result<Model> model =
      ModelReader::read(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), Model());
  if (!model) return std::unexpected(std::move(model).error().within(origin));
  return model;
}

Result<Model> read(const std::filesystem::path& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return std::unexpected(std::move(file).error().within(path.string()));
  Result<Model> model = read_bytes(file->bytes(), path.string());
  if (model) ModelReader::own(*model, std::move(*file), path);
  return model;
}

}  // namespace plimsoll::onnx
