#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "command_line.hpp"
#include "network/binding.hpp"
#include "network/network.hpp"
#include "network/setting.hpp"
#include "onnx/model.hpp"

namespace plimsoll {

/// What MODEL may be, for help texts.
inline constexpr const char* kModelWords =
    "ONNX or GGUF file, zoo name, folder with a config.json, or FILE.py:function";

/// MODEL as a person gives it: an ONNX or GGUF file, a name of the zoo, a folder with a Hugging Face
/// config.json (or that file), or FILE.py:function.
struct ModelRequest {
  std::string spec;
  network::Mode mode = network::Mode::infer;
  std::vector<std::string> inputs = {};  ///< --input, as given
  bool keep_file = false;                ///< for the sake of its weights
};

struct LoadedModel {
  std::string label;
  network::Network network;
  std::vector<std::string> notes;
  bool inputs_used = false;  ///< --input went into making the model and must not be bound again
  /// Where it was to be kept: the file, with a Network of its own, and the folder of one that was handed
  /// over.
  std::optional<onnx::Model> file = {};
  std::optional<TemporaryDirectory> folder = {};
};

[[nodiscard]] Result<LoadedModel> load_model(const ModelRequest& request);

/// The options that bind dimensions, shared by the commands that take a MODEL.
struct BindingOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> extents;

  /// Batch and sequence go into the setting.
  void add_to(CommandLine& command, network::Setting& setting);
  /// The same with a list of batches, for commands that answer for several.
  void add_to(CommandLine& command, network::Setting& setting, std::vector<std::int64_t>& batches);
  /// Without the batch, for commands that choose it.
  void add_shapes_to(CommandLine& command, network::Setting& setting);
  /// `with_inputs` false where the model was made with them already.
  [[nodiscard]] Result<network::BindingRequest> request(const network::Setting& setting,
                                                        bool with_inputs) const;
};

}  // namespace plimsoll
