#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "onnx/reader.hpp"
#include "onnx/schema.hpp"

/// Small ONNX messages for tests, right and wrong ones alike; nothing is checked. Each function gives an
/// encoded message, which others take as a part.
namespace plimsoll::onnx::test {

using Bytes = std::string;
using List = std::initializer_list<Bytes>;
using Names = std::initializer_list<std::string_view>;

inline Bytes text_field(std::uint32_t number, std::string_view text) {
  Bytes out;
  protozero::pbf_writer(out).add_string(number, text.data(), text.size());
  return out;
}
inline Bytes number_field(std::uint32_t number, std::int64_t n) {
  Bytes out;
  protozero::pbf_writer(out).add_int64(number, n);
  return out;
}
inline Bytes join(List parts) {
  Bytes out;
  for (const Bytes& part : parts) out += part;
  return out;
}

inline Bytes attribute(std::string_view name, std::int64_t value) {
  namespace f = schema::attribute;
  return join(
      {text_field(f::kName, name), number_field(f::kInteger, value), number_field(f::kType, f::integer)});
}
inline Bytes attribute(std::string_view name, int value) {
  return attribute(name, static_cast<std::int64_t>(value));
}
inline Bytes attribute(std::string_view name, std::initializer_list<std::int64_t> values) {
  namespace f = schema::attribute;
  Bytes out = text_field(f::kName, name);
  protozero::pbf_writer writer(out);
  writer.add_packed_int64(f::kIntegers, values.begin(), values.end());
  writer.add_enum(f::kType, f::integers);
  return out;
}
inline Bytes attribute(std::string_view name, double value) {
  namespace f = schema::attribute;
  Bytes out = text_field(f::kName, name);
  protozero::pbf_writer writer(out);
  writer.add_float(f::kReal, static_cast<float>(value));
  writer.add_enum(f::kType, f::real);
  return out;
}
inline Bytes text_attribute(std::string_view name, std::string_view value) {
  namespace f = schema::attribute;
  return join({text_field(f::kName, name), text_field(f::kText, value), number_field(f::kType, f::text)});
}
inline Bytes tensor_attribute(std::string_view name, const Bytes& tensor) {
  namespace f = schema::attribute;
  return join(
      {text_field(f::kName, name), text_field(f::kTensor, tensor), number_field(f::kType, f::tensor)});
}
inline Bytes graph_attribute(std::string_view name, const Bytes& graph) {
  namespace f = schema::attribute;
  return join({text_field(f::kName, name), text_field(f::kGraph, graph), number_field(f::kType, f::graph)});
}
inline Bytes reference(std::string_view name, std::string_view of, std::int64_t type) {
  namespace f = schema::attribute;
  return join({text_field(f::kName, name), text_field(f::kReference, of), number_field(f::kType, type)});
}

inline Bytes node(std::string_view type, Names inputs, Names outputs, List attributes = {},
                  std::string_view name = "", std::string_view domain = "") {
  Bytes out;
  for (const std::string_view i : inputs) out += text_field(schema::node::kInput, i);
  for (const std::string_view o : outputs) out += text_field(schema::node::kOutput, o);
  if (!name.empty()) out += text_field(schema::node::kName, name);
  if (!type.empty()) out += text_field(schema::node::kType, type);
  for (const Bytes& a : attributes) out += text_field(schema::node::kAttribute, a);
  if (!domain.empty()) out += text_field(schema::node::kDomain, domain);
  return out;
}

/// TensorProto without contents; `contents` are further fields.
inline Bytes tensor(std::string_view name, int type, std::initializer_list<std::int64_t> dims,
                    const Bytes& contents = {}) {
  namespace f = schema::tensor;
  Bytes out;
  protozero::pbf_writer writer(out);
  writer.add_packed_int64(f::kDims, dims.begin(), dims.end());
  writer.add_int32(f::kType, type);
  if (!name.empty()) writer.add_string(f::kName, name.data(), name.size());
  return out + contents;
}
inline Bytes raw(std::string_view bytes) {
  return text_field(schema::tensor::kRaw, bytes);
}
inline Bytes raw_zeros(std::size_t bytes) {
  return raw(std::string(bytes, '\0'));
}
inline Bytes external(std::string_view location, std::string_view offset = "", std::string_view length = "") {
  const auto entry = [](std::string_view key, std::string_view value) {
    return value.empty()
               ? Bytes()
               : text_field(schema::tensor::kExternal,
                            text_field(schema::entry::kKey, key) + text_field(schema::entry::kValue, value));
  };
  return join({entry("location", location), entry("offset", offset), entry("length", length),
               number_field(schema::tensor::kLocation, 1)});
}

struct Extent {
  Extent(int n) : value(n) {}           // NOLINT(google-explicit-constructor)
  Extent(std::int64_t n) : value(n) {}  // NOLINT(google-explicit-constructor)
  Extent(const char* n) : name(n) {}    // NOLINT(google-explicit-constructor)
  std::int64_t value = 0;
  const char* name = nullptr;  // "": neither value nor name
};
inline Bytes value(std::string_view name, int type, std::initializer_list<Extent> dims) {
  namespace f = schema::type;
  Bytes shape;
  for (const Extent& d : dims)
    shape += text_field(f::kDim, d.name == nullptr ? number_field(f::kDimValue, d.value)
                                 : *d.name == 0    ? Bytes()
                                                   : text_field(f::kDimName, d.name));
  const Bytes type_message =
      text_field(f::kTensor, number_field(f::kElement, type) + text_field(f::kShape, shape));
  return text_field(schema::value_info::kName, name) + text_field(schema::value_info::kType, type_message);
}
inline Bytes value(std::string_view name) {
  return text_field(schema::value_info::kName, name);
}

struct GraphParts {
  List nodes = {};
  List inputs = {};
  List outputs = {};
  List initializers = {};
  List value_infos = {};
};
inline Bytes graph(const GraphParts& parts) {
  namespace f = schema::graph;
  Bytes out;
  for (const Bytes& n : parts.nodes) out += text_field(f::kNode, n);
  out += text_field(f::kName, "g");
  for (const Bytes& t : parts.initializers) out += text_field(f::kInitializer, t);
  for (const Bytes& v : parts.inputs) out += text_field(f::kInput, v);
  for (const Bytes& v : parts.outputs) out += text_field(f::kOutput, v);
  for (const Bytes& v : parts.value_infos) out += text_field(f::kValueInfo, v);
  return out;
}

inline Bytes opset(std::string_view domain, std::int64_t version) {
  return text_field(schema::opset::kDomain, domain) + number_field(schema::opset::kVersion, version);
}
inline Bytes function(std::string_view domain, std::string_view name, Names inputs, Names outputs, List nodes,
                      List defaults = {}, std::int64_t version = 17) {
  namespace f = schema::function;
  Bytes out = text_field(f::kName, name) + text_field(f::kDomain, domain) +
              text_field(f::kOpsetImport, opset("", version));
  for (const std::string_view i : inputs) out += text_field(f::kInput, i);
  for (const std::string_view o : outputs) out += text_field(f::kOutput, o);
  for (const Bytes& n : nodes) out += text_field(f::kNode, n);
  for (const Bytes& d : defaults) out += text_field(f::kDefault, d);
  return out;
}
inline Bytes model(const Bytes& main, const std::vector<Bytes>& functions = {}, std::int64_t version = 17) {
  namespace f = schema::model;
  Bytes out = number_field(f::kIrVersion, 8) + text_field(f::kProducerName, "test") +
              text_field(f::kOpsetImport, opset("", version)) + text_field(f::kGraph, main);
  for (const Bytes& fn : functions) out += text_field(f::kFunctions, fn);
  return out;
}

inline Result<Model> read_text(const Bytes& bytes) {
  return read_bytes(std::as_bytes(std::span(bytes)), "test.onnx");
}

}  // namespace plimsoll::onnx::test
