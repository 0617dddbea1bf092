#include "libonnx_peer.hpp"

#include <fstream>
#include <iterator>
#include <unordered_map>

#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

namespace {

bool load(const std::string& path, onnx::ModelProto& model) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool infer(onnx::ModelProto& model) {
  try {
    onnx::shape_inference::InferShapes(model);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool has_shape(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return false;
  for (const auto& d : type.tensor_type().shape().dim())
    if (!d.has_dim_value() && !d.has_dim_param()) return false;
  return true;
}

}  // namespace

PeerResult peer_inspect(const std::string& path) {
  onnx::ModelProto model;
  PeerResult result;
  result.inferred = load(path, model) && infer(model);
  return result;
}

PeerResult peer_coverage(const std::string& path) {
  onnx::ModelProto model;
  PeerResult result;
  if (!load(path, model)) return result;
  // Only what it infers itself counts, not what the exporter wrote down.
  model.mutable_graph()->clear_value_info();
  result.inferred = infer(model);
  std::unordered_map<std::string, bool> shaped;
  for (const auto& v : model.graph().value_info()) shaped[v.name()] = has_shape(v.type());
  for (const auto& v : model.graph().output()) shaped[v.name()] = has_shape(v.type());
  for (const auto& node : model.graph().node())
    for (const auto& out : node.output()) {
      if (out.empty()) continue;
      ++result.outputs;
      if (const auto found = shaped.find(out); found != shaped.end() && found->second) ++result.shaped;
    }
  return result;
}
