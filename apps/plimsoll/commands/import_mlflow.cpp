#include "store/import_mlflow.hpp"

#include <memory>

#include "command.hpp"
#include "store/store.hpp"
#include "transfer_words.hpp"

namespace plimsoll {
namespace {

struct ImportOptions {
  std::string path, store;
  bool json = false;
};

Result<int> import_runs(const ImportOptions& options) {
  const auto to = store::open(options.store);
  if (!to) return std::unexpected(to.error());
  Result<store::Transferred> done;
  {
    const TransferLine line;
    done = store::import_mlflow(options.path, **to,
                                [&](const store::Transferred& so_far) { line.show(so_far); });
  }
  if (!done) return std::unexpected(done.error());
  return print_transferred(*done, (*to)->location(), options.json);
}

}  // namespace

void add_import_mlflow(CommandLine& app, Invocation& invocation) {
  CommandLine* command = app.add_subcommand(
      "import-mlflow", "Bring the runs of an MLflow file store or SQLite database into the store");
  const auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("path", options->path, "The folder mlruns, the one that it is in, or the file mlflow.db")
      ->required()
      ->option_text("PATH");
  command
      ->add_option("--store", options->store,
                   "The store to write to (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Example:\n"
      "  plimsoll import-mlflow ./mlruns");
  command->callback([options, &invocation] { invocation.run = [options] { return import_runs(*options); }; });
}

}  // namespace plimsoll
