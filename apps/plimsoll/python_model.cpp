#include "python_model.hpp"

#include <cstdlib>
#include <span>

#include <nlohmann/json.hpp>

#include "base/embedded.hpp"
#include "base/process.hpp"

namespace plimsoll {

std::span<const EmbeddedFile> embedded_python();  // generated: cmake/embed.cmake

namespace {

// Importing PyTorch and exporting a large network takes minutes at most.
constexpr std::chrono::minutes kLongestExport{15};

Status unpack(const std::filesystem::path& package) {
  std::error_code problem;
  std::filesystem::create_directory(package, problem);
  if (problem) return fail("cannot make {}: {}", package.string(), problem.message());
  for (const EmbeddedFile& file : embedded_python())
    PLIMSOLL_TRY(write_file(package / file.name, file.contents));
  return {};
}

std::string search_path(const std::filesystem::path& first) {
  const char* rest = std::getenv("PYTHONPATH");
  return rest == nullptr || *rest == '\0' ? first.string() : first.string() + ":" + rest;
}

std::string last_lines(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  constexpr std::size_t kMost = 600;
  if (text.size() > kMost) text.remove_prefix(text.size() - kMost);
  return std::string(text);
}

}  // namespace

Result<PythonModel> export_python_model(const ModelRequest& request) {
  Result<TemporaryDirectory> folder = TemporaryDirectory::make();
  if (!folder) return std::unexpected(std::move(folder).error());
  PLIMSOLL_TRY(unpack(folder->path() / "plimsoll_torch"));
  const std::filesystem::path model = folder->path() / "model.onnx";

  const char* chosen = std::getenv("PLIMSOLL_PYTHON");
  const std::string python = chosen == nullptr || *chosen == '\0' ? "python3" : chosen;
  ProcessOptions options;
  options.argv = {python,
                  "-m",
                  "plimsoll_torch",
                  request.spec,
                  "-o",
                  model.string(),
                  "--weights",
                  "none",
                  "--json",
                  "--mode",
                  request.mode == network::Mode::train ? "train" : "eval"};
  for (const std::string& input : request.inputs) {
    options.argv.emplace_back("--input");
    options.argv.push_back(input);
  }
  options.environment = {{"PYTHONPATH", search_path(folder->path())}};
  options.timeout = kLongestExport;
  Result<ProcessOutput> child = run(options);
  if (!child) {
    Error error = std::move(child).error();
    error.hint = "PLIMSOLL_PYTHON names the Python that has PyTorch.";
    return std::unexpected(std::move(error));
  }
  if (!child->succeeded()) {
    Error error{child->error.empty() ? fmt::format("{} {}", python, child->outcome())
                                     : last_lines(child->error)};
    error.where = request.spec;
    error.hint =
        "PLIMSOLL_PYTHON names the Python to use; docs/plimsoll_torch.md says what can be handed over.";
    if (child->exit_code == 3) error.kind = Error::Kind::machine_lacks;
    return std::unexpected(std::move(error));
  }
  PythonModel handed{std::move(*folder), model, {}};
  const auto report = nlohmann::json::parse(child->output, nullptr, false);
  if (report.is_object() && report.contains("notes") && report["notes"].is_array())
    for (const auto& note : report["notes"])
      if (note.is_string()) handed.notes.push_back(note.get<std::string>());
  return handed;
}

}  // namespace plimsoll
