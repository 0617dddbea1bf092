#pragma once
#include <functional>
#include <string>

#include "base/error.hpp"

namespace plimsoll {

/// What `plimsoll serve` is asked.
struct ServeOptions {
  std::string store;
  std::string host = "127.0.0.1";
  int port = 5000;
  std::string unix_socket, token_file, read_token_file, artifacts, mlflow_ui;
  int threads = 4;
  bool any_user = false, allow_commands = false, flush = false, json = false;
};

/// Serves until a signal ends it; calls `ready`, if there is one, with the address as soon as it answers.
[[nodiscard]] Result<int> serve_store(const ServeOptions& options,
                                      const std::function<void(const std::string& url)>& ready = {});

}  // namespace plimsoll
