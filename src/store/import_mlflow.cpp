#include "store/import_mlflow.hpp"

#include <system_error>

namespace plimsoll::store {

Result<Transferred> import_mlflow(const std::filesystem::path& path, Store& to, const Progress& progress) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return import_mlflow_database(path, to, progress);
  if (!fs::is_directory(path, ignored))
    return std::unexpected(Error{"there is no such file or folder", path.string(),
                                 "Give the folder mlruns of a file store, or the file mlflow.db."});
  for (const fs::path& root : {path, path / "mlruns"})
    for (const auto& entry : fs::directory_iterator(root, ignored))
      if (fs::is_regular_file(entry.path() / "meta.yaml", ignored))
        return import_mlflow_files(root, to, progress);
  if (fs::is_regular_file(path / "mlflow.db", ignored))
    return import_mlflow_database(path / "mlflow.db", to, progress);
  return std::unexpected(Error{"this is not a store of MLflow: no experiment is in it", path.string(),
                               "Give the folder mlruns of a file store, or the file mlflow.db."});
}

}  // namespace plimsoll::store
