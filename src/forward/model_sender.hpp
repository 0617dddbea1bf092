#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forward/artifact_sender.hpp"
#include "forward/mlflow_remote.hpp"
#include "forward/remote_models.hpp"
#include "store/store.hpp"

namespace plimsoll::forward {

/// On the server's logged model: the id that it has here.
inline constexpr const char* kLocalModelTag = "plimsoll.model";

/// A logged model that was sent.
struct SentModel {
  std::string model = {};   ///< here
  std::string remote = {};  ///< there; empty on a server of MLflow 2, where its files are among a run's
  RemotePlace place = {};
  std::string below = {};  ///< the folder in the place
  bool created = false;
  bool waits = false;  ///< for runs that its metrics are of
};

/// As which run the server at `url` has this one; nothing where it was not sent there.
[[nodiscard]] Result<std::optional<std::string>> remote_run_of(store::Store& store, const std::string& url,
                                                               const std::string& run);

/// Brings logged models to a server: what describes them, their files, and which metrics are about them. One
/// that is there already, by its tag there, is gone on with.
class ModelSender {
 public:
  ModelSender(store::Store& store, MlflowRemote& remote, std::string url, ArtifactSender& artifacts,
              std::vector<LeftOut>& left_out)
      : store_(&store),
        remote_(&remote),
        url_(std::move(url)),
        models_(remote.server()),
        artifacts_(&artifacts),
        left_out_(&left_out) {}

  /// When the runs that it names were sent. Nothing where it cannot be there: it is gone, or the server has
  /// no logged models and its run is not there.
  [[nodiscard]] Result<std::optional<SentModel>> send(const std::string& id);
  /// When all runs were sent: says of their metrics which models they are about.
  [[nodiscard]] Status finish();
  [[nodiscard]] const std::vector<SentModel>& sent() const { return sent_; }

 private:
  Result<std::optional<SentModel>> send_as_files(const store::LoggedModel& model);
  Result<std::optional<SentModel>> send_whole(const store::LoggedModel& model, const std::string& experiment);
  Status send_params(const store::LoggedModel& model, const RemoteModel& there);
  Status send_tags(const store::LoggedModel& model, const RemoteModel& there);
  Result<bool> send_metrics(const store::LoggedModel& model, const RemoteModel& there);
  Status leave_out(const Status& done, const std::string& what);

  store::Store* store_;
  MlflowRemote* remote_;
  std::string url_;
  RemoteModels models_;
  ArtifactSender* artifacts_;
  std::vector<LeftOut>* left_out_;
  std::vector<SentModel> sent_ = {};
};

}  // namespace plimsoll::forward
