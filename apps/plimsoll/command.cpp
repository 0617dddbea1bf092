#include "command.hpp"

namespace plimsoll {

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description) {
  return app.add_subcommand(name, description);
}

}  // namespace plimsoll
