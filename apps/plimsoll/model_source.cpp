#include "model_source.hpp"

#include <charconv>
#include <filesystem>

#include "gguf/model.hpp"
#include "huggingface/model.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/reader.hpp"
#include "python_model.hpp"
#include "quantity.hpp"

namespace plimsoll {
namespace {

bool names_python(std::string_view spec) {
  // FILE.py:function, or package.module:function; a zoo name may carry options after its colon.
  const std::size_t colon = spec.rfind(':');
  return colon != std::string_view::npos &&
         (spec.substr(0, colon).ends_with(".py") || !network::zoo::names_zoo_model(spec));
}

bool looks_like_path(std::string_view spec) {
  return spec.ends_with(".onnx") || spec.ends_with(".gguf") || spec.find('/') != std::string_view::npos;
}

Result<LoadedModel> load_file(const std::filesystem::path& path, std::string label, bool keep_file) {
  Result<onnx::Model> model = onnx::read(path);
  if (!model) return std::unexpected(std::move(model).error());
  if (model->network.main().operators.empty())
    return std::unexpected(Error{"the model has no operators: there is nothing to count"}.within(label));
  LoadedModel loaded;
  loaded.label = std::move(label);
  loaded.notes = std::move(model->notes);
  if (keep_file) {
    loaded.network = model->network;
    loaded.file = std::move(*model);
  } else {
    loaded.network = std::move(model->network);
  }
  return loaded;
}

Result<LoadedModel> load_config(const std::filesystem::path& path, const ModelRequest& request) {
  Result<huggingface::Model> model = huggingface::read(path, request.mode);
  if (!model) return std::unexpected(std::move(model).error());
  LoadedModel loaded;
  loaded.label = request.spec;
  loaded.network = std::move(model->network);
  loaded.notes = std::move(model->notes);
  return loaded;
}

Result<LoadedModel> load_gguf(const ModelRequest& request) {
  if (request.keep_file) {
    Error error{
        "a GGUF file is run by llama.cpp, which Plimsoll does not start: it can be estimated, not measured"};
    return std::unexpected(std::move(error).within(request.spec));
  }
  Result<gguf::Model> model = gguf::read_model(request.spec, request.mode);
  if (!model) return std::unexpected(std::move(model).error());
  LoadedModel loaded;
  loaded.label = request.spec;
  loaded.network = std::move(model->network);
  loaded.notes = std::move(model->notes);
  return loaded;
}

}  // namespace

Result<LoadedModel> load_model(const ModelRequest& request) {
  const std::string& spec = request.spec;
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(spec, ignored);
  if (is_file)
    if (const std::filesystem::path config = huggingface::config_at(spec); !config.empty())
      return load_config(config, request);
  if (spec.ends_with(".gguf") || (is_file && gguf::is_gguf(spec))) return load_gguf(request);
  if (is_file || looks_like_path(spec))
    if (is_file || !names_python(spec)) return load_file(spec, spec, request.keep_file);
  if (network::zoo::names_zoo_model(spec)) {
    Result<network::Network> built = network::zoo::build(spec, request.mode);
    if (!built) return std::unexpected(std::move(built).error());
    LoadedModel loaded;
    loaded.label = spec;
    loaded.network = std::move(*built);
    return loaded;
  }
  if (names_python(spec)) {
    Result<PythonModel> handed = export_python_model(request);
    if (!handed) return std::unexpected(std::move(handed).error());
    Result<LoadedModel> loaded = load_file(handed->path, spec, request.keep_file);
    if (!loaded) return loaded;
    loaded->inputs_used = true;
    loaded->folder = std::move(handed->folder);
    for (std::string& note : handed->notes) loaded->notes.push_back(std::move(note));
    return loaded;
  }
  // Not a file and no name: the zoo's own message suggests the nearest.
  Result<network::Network> nearest = network::zoo::build(spec, request.mode);
  if (nearest) return fail("'{}' names no model", spec);
  Error error = std::move(nearest).error();
  if (error.hint.empty())
    error.hint =
        "MODEL is an ONNX or GGUF file, a name from `plimsoll zoo`, a folder with a config.json, or "
        "FILE.py:function.";
  return std::unexpected(std::move(error));
}

namespace {

std::string not_positive(const std::string& text) {
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool fits = problem == std::errc() && end == text.data() + text.size() && n > 0;
  return fits ? std::string() : "'" + text + "' is not a whole number above zero";
}

void add_shape_options(CommandLine& command, BindingOptions& options, network::Setting& setting) {
  command.add_option("--seq,-s", setting.sequence, "Sequence length of a language model")
      ->check(not_positive)
      ->option_text("S");
  command
      .add_option(
          "--input", options.inputs,
          "Shape of an input: 1x3x224x224 or NAME=1x3x224x224; for FILE.py:function without the batch")
      ->option_text("SHAPE…");
  command.add_option("--dim", options.extents, "Value of any other named dimension")->option_text("NAME=N…");
}

}  // namespace

void BindingOptions::add_shapes_to(CommandLine& command, network::Setting& setting) {
  add_shape_options(command, *this, setting);
}

void BindingOptions::add_to(CommandLine& command, network::Setting& setting) {
  command.add_option("--batch,-b", setting.batch, "Batch size")->check(not_positive)->option_text("N");
  add_shape_options(command, *this, setting);
}

void BindingOptions::add_to(CommandLine& command, network::Setting& setting,
                            std::vector<std::int64_t>& batches) {
  command.add_option("--batch,-b", batches, "Batch size, or several")
      ->check(not_positive)
      ->delimiter(',')
      ->option_text("N,…");
  add_shape_options(command, *this, setting);
}

Result<network::BindingRequest> BindingOptions::request(const network::Setting& setting,
                                                        bool with_inputs) const {
  network::BindingRequest out{.batch = setting.batch,
                              .sequence = setting.sequence,
                              .context = setting.mode == network::Mode::infer ? setting.context : 0};
  for (const std::string& given : inputs) {
    if (!with_inputs) break;
    const std::size_t equals = given.rfind('=');
    Result<std::vector<std::int64_t>> dims =
        parse_shape(equals == std::string::npos ? given : given.substr(equals + 1));
    if (!dims) return std::unexpected(std::move(dims).error());
    out.inputs.push_back({equals == std::string::npos ? "" : given.substr(0, equals), std::move(*dims)});
  }
  for (const std::string& given : extents) {
    const std::size_t equals = given.rfind('=');
    Result<std::vector<std::int64_t>> value = equals == std::string::npos
                                                  ? fail("'{}' is not of the form NAME=N", given)
                                                  : parse_shape(given.substr(equals + 1));
    if (!value) return std::unexpected(std::move(value).error());
    if (value->size() != 1) return fail("'{}' is not of the form NAME=N", given);
    out.extents.push_back({given.substr(0, equals), value->front()});
  }
  return out;
}

}  // namespace plimsoll
