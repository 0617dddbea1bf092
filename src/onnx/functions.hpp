#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::onnx {

/// A model-local function, decoded but for its nodes. Views are into the file.
struct Function {
  struct Default {
    std::string_view name;
    std::string_view message;  ///< AttributeProto
  };
  struct Import {
    std::string_view domain;
    std::int64_t version = 0;
  };
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> nodes;  ///< NodeProtos
  std::vector<Default> defaults;
  std::vector<Import> imports;
};

/// All functions of a model, by domain, name and overload.
class Functions {
 public:
  [[nodiscard]] Status add(std::string_view message);  ///< FunctionProto
  [[nodiscard]] bool empty() const { return functions_.empty(); }
  [[nodiscard]] const Function* find(std::string_view domain, std::string_view name,
                                     std::string_view overload) const;
  [[nodiscard]] const auto& all() const { return functions_; }

 private:
  struct Key {
    std::string_view domain, name, overload;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, Function> functions_;
};

/// ONNX's own domain has two spellings.
[[nodiscard]] inline std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace plimsoll::onnx
