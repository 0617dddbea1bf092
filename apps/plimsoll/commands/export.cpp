#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "command.hpp"
#include "inspect_model.hpp"
#include "json_output.hpp"
#include "model_source.hpp"
#include "onnx/writer.hpp"

namespace plimsoll {
namespace {

struct ExportOptions {
  std::string model, output;
  network::Mode mode = network::Mode::infer;
  std::vector<std::string> inputs;
  bool json = false;
};

Result<int> run(const ExportOptions& options) {
  const Result<LoadedModel> loaded = load_model({options.model, options.mode, options.inputs});
  if (!loaded) return std::unexpected(loaded.error());
  PLIMSOLL_TRY(onnx::write(loaded->network, {}, options.output));
  std::error_code problem;
  const auto bytes = std::filesystem::file_size(options.output, problem);
  if (options.json)
    print_json(nlohmann::ordered_json{
        {"model", printable(options.model)}, {"path", printable(options.output)}, {"bytes", bytes}});
  else
    fmt::print("{}: {} operators, {} bytes, weights left out\n", printable(options.output),
               loaded->network.main().operators.size(), bytes);
  return 0;
}

}  // namespace

void add_export(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ExportOptions>();
  CommandLine* command = app.add_subcommand(
      "export", "Write a zoo network, a config.json or a PyTorch module as ONNX without weights");
  command->add_option("model", options->model, "Zoo name, folder with a config.json, or FILE.py:function")
      ->required()
      ->option_text("MODEL");
  command->add_option("--output,-o", options->output, "File to write")->required()->option_text("FILE.onnx");
  add_mode_option(*command, options->mode);
  command
      ->add_option("--input", options->inputs,
                   "Shape of an input of FILE.py:function without its batch: 3x224x224")
      ->option_text("SHAPE…");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n  plimsoll export resnet50 --mode train -o resnet50.onnx\n  plimsoll export bert-base -o "
      "bert.onnx");
  command->callback([options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace plimsoll
