#include "onnx/functions.hpp"

#include "base/printable.hpp"
#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

namespace plimsoll::onnx {
namespace {

Function::Import decode_import(std::string_view message) {
  Function::Import import;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes_field(schema::opset::kDomain)) import.domain = plain_domain(f.bytes());
    if (f.key() == varint_field(schema::opset::kVersion)) import.version = f.integer();
  }
  return import;
}

Function::Default decode_default(std::string_view message) {
  Function::Default out{{}, message};
  for (Fields f(message); f.next();)
    if (f.key() == bytes_field(schema::attribute::kName)) out.name = f.bytes();
  return out;
}

}  // namespace

Status Functions::add(std::string_view message) {
  Function function;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes_field(schema::function::kName): function.name = f.bytes(); break;
      case bytes_field(schema::function::kDomain): function.domain = plain_domain(f.bytes()); break;
      case bytes_field(schema::function::kOverload): function.overload = f.bytes(); break;
      case bytes_field(schema::function::kInput): function.inputs.push_back(f.bytes()); break;
      case bytes_field(schema::function::kOutput): function.outputs.push_back(f.bytes()); break;
      case bytes_field(schema::function::kNode): function.nodes.push_back(f.bytes()); break;
      case bytes_field(schema::function::kOpsetImport):
        function.imports.push_back(decode_import(f.bytes()));
        break;
      case bytes_field(schema::function::kDefault):
        function.defaults.push_back(decode_default(f.bytes()));
        break;
      default: break;
    }
  }
  if (function.name.empty()) return fail("a function has no name");
  const Key key{function.domain, function.name, function.overload};
  const std::string name = quote(function.name);
  if (!functions_.emplace(key, std::move(function)).second) return fail("function {} is defined twice", name);
  return {};
}

const Function* Functions::find(std::string_view domain, std::string_view name,
                                std::string_view overload) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(Key{domain, name, overload});
  return found == functions_.end() ? nullptr : &found->second;
}

}  // namespace plimsoll::onnx
