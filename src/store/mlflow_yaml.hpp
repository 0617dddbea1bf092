#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::store {

/// A file `meta.yaml` as MLflow writes it: keys with a text or number each, and `tags` and `aliases`
/// with a level of their own ("tags.context"). Empty lists and null are empty texts. Whatever else YAML has
/// (anchors, types, documents, lists) is refused: it is not MLflow's.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_mlflow_yaml(std::string_view text);

}  // namespace plimsoll::store
