#pragma once
#include <string>
#include <vector>

#include "forward/model_sender.hpp"

namespace plimsoll::forward {

/// Brings to a server what a run has beside params, tags and points: the data that it has read, the models
/// that it has logged and used, its files. What is there already is not sent again.
class ContentSender {
 public:
  ContentSender(store::Store& store, MlflowRemote& remote, ModelSender& models, ArtifactSender& artifacts,
                std::vector<LeftOut>& left_out)
      : store_(&store), remote_(&remote), models_(&models), artifacts_(&artifacts), left_out_(&left_out) {}

  /// `run`: its id here. `remote_run`: as the server names it.
  [[nodiscard]] Status send(const std::string& run, const std::string& remote_run);
  [[nodiscard]] std::size_t datasets_sent() const { return datasets_; }

 private:
  Status send_datasets(const store::Run& run, const RemoteRun& there);
  Status send_models(const store::Run& run, const RemoteRun& there);
  Status send_described_models(const store::Run& run, const RemoteRun& there);
  Status ask(const std::string& call, const std::string& body, const std::string& what);

  store::Store* store_;
  MlflowRemote* remote_;
  ModelSender* models_;
  ArtifactSender* artifacts_;
  std::vector<LeftOut>* left_out_;
  std::size_t datasets_ = 0;
};

}  // namespace plimsoll::forward
