#include "store/store.hpp"

#include <memory>

#include "command.hpp"
#include "transfer_words.hpp"

namespace plimsoll {
namespace {

struct CopyOptions {
  std::string from, to;
  bool json = false;
};

Result<int> copy_store(const CopyOptions& options) {
  const auto from = store::open(options.from, {.create = false});
  if (!from) return std::unexpected(from.error());
  const auto to = store::open(options.to);
  if (!to) return std::unexpected(to.error());
  if ((*from)->location() == (*to)->location())
    return std::unexpected(Error{"a store cannot be copied into itself", (*to)->location()});
  Result<store::Transferred> done;
  {
    const TransferLine line;
    done = store::copy(**from, **to, [&](const store::Transferred& so_far) { line.show(so_far); });
  }
  if (!done) return std::unexpected(done.error());
  return print_transferred(*done, (*to)->location(), options.json);
}

}  // namespace

void add_store(CommandLine& app, Invocation& invocation) {
  CommandLine* command =
      app.add_subcommand("store", "Copy all runs from one store to another: SQLite, PostgreSQL");
  command->require_subcommand(1);
  command->footer(
      "Example:\n"
      "  plimsoll store copy runs.db postgresql://plimsoll@db/runs  from SQLite to PostgreSQL\n"
      "`plimsoll store copy --help` explains it.");
  const auto options = std::make_shared<CopyOptions>();
  CommandLine* copy =
      command->add_subcommand("copy", "Copy experiments, runs, points, models and files; may be repeated");
  copy->add_option("from", options->from, "The store to read: a path, or postgresql://USER@HOST/DATABASE")
      ->required()
      ->option_text("FROM");
  copy->add_option("to", options->to, "The store to write to; made where there is none")
      ->required()
      ->option_text("TO");
  copy->add_flag("--json", options->json, "Print one JSON document");
  copy->footer(
      "Example:\n"
      "  plimsoll store copy ~/.local/share/plimsoll/plimsoll.db postgresql://plimsoll@db/runs");
  copy->callback([options, &invocation] { invocation.run = [options] { return copy_store(*options); }; });
}

}  // namespace plimsoll
