#pragma once
#include "base/error.hpp"
#include "report/registry_table.hpp"
#include "store/store.hpp"
#include "weigh_options.hpp"

namespace plimsoll {

/// A version with what is in its file: of ONNX what the network is and does, of safetensors its weights. A
/// file that cannot be read is no error: the answer says why. `on`: a setting and the devices to weigh an
/// ONNX file on, this machine's where it names none; null: none.
[[nodiscard]] Result<report::WeighedVersion> weighed_version(store::Store& store,
                                                             const store::ModelVersion& version,
                                                             const WeighOptions* on = nullptr);

}  // namespace plimsoll
