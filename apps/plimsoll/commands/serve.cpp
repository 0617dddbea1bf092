#include <memory>

#include "command.hpp"
#include "serving.hpp"

namespace plimsoll {

void add_serve(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ServeOptions>();
  CommandLine* command = app.add_subcommand(
      "serve", "Serve the runs to browsers and to MLflow's own client, and take what it logs");
  command
      ->add_option("--store", options->store,
                   "The store that the runs are in: a file, or postgresql://USER@HOST/DATABASE (default: "
                   "PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH|URL");
  command
      ->add_option("--host", options->host,
                   "The address to listen at (default: 127.0.0.1); any other needs a token")
      ->option_text("ADDRESS");
  command->add_option("--port", options->port, "The port (default: 5000); 0: any that is free")
      ->in_range(0, 65535)
      ->option_text("PORT");
  CommandLineOption* unix_socket =
      command
          ->add_option("--unix", options->unix_socket, "Listen at a Unix socket instead, for this user only")
          ->option_text("PATH");
  command
      ->add_option("--token-file", options->token_file,
                   "Every call must bring the token in this file (default: the token in PLIMSOLL_TOKEN, "
                   "where it is set)")
      ->option_text("FILE");
  command
      ->add_option("--read-token-file", options->read_token_file,
                   "Who brings the token in this file may read, and change nothing (default: the token in "
                   "PLIMSOLL_READ_TOKEN)")
      ->option_text("FILE");
  command
      ->add_flag("--any-user", options->any_user,
                 "Without a token: answer every user of this machine (default: you and root)")
      ->excludes(unix_socket);
  command->add_flag("--allow-commands", options->allow_commands,
                    "Let who brings the token give commands to your queue from the page, and stop your runs");
  command
      ->add_option("--artifacts", options->artifacts, "Where the artifacts of a store in PostgreSQL are kept")
      ->option_text("FOLDER");
  command
      ->add_option("--mlflow-ui", options->mlflow_ui,
                   "Serve MLflow's own pages too, at /mlflow/, from the folder of an installed MLflow 3")
      ->option_text("FOLDER");
  command->add_option("--threads", options->threads, "Threads that answer calls (default: 4)")
      ->in_range(1, 256)
      ->option_text("N");
  command->add_flag("--flush", options->flush,
                    "Answer only when what was sent is on the disk: safe from power cuts, and slower");
  command->add_flag("--json", options->json, "Print where it serves as one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll serve\n"
      "  MLFLOW_TRACKING_URI=http://127.0.0.1:5000 python train.py\n"
      "  plimsoll serve --mlflow-ui \"$(python -c 'import mlflow; print(mlflow.__path__[0])')\"\n"
      "  openssl rand -hex 32 > token; chmod 600 token\n"
      "  plimsoll serve --host 0.0.0.0 --token-file token --store postgresql://user@host/runs");
  command->callback([options, &invocation] { invocation.run = [options] { return serve_store(*options); }; });
}

}  // namespace plimsoll
