#pragma once
#include <memory>
#include <string>

#include "base/error.hpp"
#include "run/job.hpp"
#include "serve/service.hpp"

namespace plimsoll {

/// MLflow's API for the commands of one `plimsoll run` alone: on a free port of this machine, behind a token
/// that they are given, for as long as this lives. What they log lands in their own run.
class PrivateServer {
 public:
  [[nodiscard]] static Result<PrivateServer> start(const std::string& store);

  /// For the environment of that run's command.
  [[nodiscard]] running::Variables variables(const std::string& run) const;

 private:
  PrivateServer(std::unique_ptr<serve::Service> service, std::string token)
      : service_(std::move(service)), token_(std::move(token)) {}
  std::unique_ptr<serve::Service> service_;
  std::string token_;
};

}  // namespace plimsoll
