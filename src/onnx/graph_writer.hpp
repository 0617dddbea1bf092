#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "base/error.hpp"
#include "network/inference.hpp"
#include "network/network.hpp"
#include "onnx/tensor_names.hpp"
#include "onnx/writer.hpp"

namespace plimsoll::onnx {

/// A TensorProto without its raw_data, which is to follow it in the file: as long as the Network says.
struct PendingTensor {
  network::TensorId tensor = network::kNoTensor;
  std::string message;
  std::int64_t raw_bytes = 0;  ///< 0: the message is complete
};

/// Encodes graphs as GraphProtos. The main graph's initializers are kept apart, so that their bytes can be
/// streamed; those in bodies and attributes are small and go inline.
class GraphWriter {
 public:
  /// Without `external`, weights that have no source are said to lie in `data_location`, one after another.
  GraphWriter(const network::Network& network, const WeightSource& weights, std::string_view data_location,
              const ExternalWeights* external = nullptr);

  /// The main graph but for its initializers.
  [[nodiscard]] Result<std::string> main_graph();
  [[nodiscard]] std::vector<PendingTensor> initializers();

 private:
  [[nodiscard]] Status write_graph(const network::Graph& graph, std::string_view name, bool is_main,
                                   protozero::pbf_writer& out);
  [[nodiscard]] Status write_node(const network::Operator& op, protozero::pbf_writer& out);
  [[nodiscard]] Status write_attribute(const network::Attribute& attribute, protozero::pbf_writer& out);
  [[nodiscard]] Result<std::string> whole_tensor(network::TensorId id);
  [[nodiscard]] PendingTensor begin_tensor(network::TensorId id, std::string_view name);
  static void point_to(std::string_view location, std::int64_t offset, std::int64_t bytes,
                       protozero::pbf_writer& out);
  void write_value(network::TensorId id, protozero::pbf_writer& out) const;
  void write_type(network::DataType type, bool has_shape, std::span<const network::Dim> dims,
                  const network::Symbols& symbols, protozero::pbf_writer& out) const;
  void infer_outputs();

  const network::Network& network_;
  const WeightSource& weights_;
  std::string_view data_location_;
  const ExternalWeights* external_;
  std::int64_t data_offset_ = 0;
  TensorNames names_;
  std::optional<network::Shapes> inferred_;  // where every operator has a rule: the outputs' types
};

}  // namespace plimsoll::onnx
