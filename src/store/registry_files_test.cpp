#include "store/registry_files.hpp"

#include <fstream>

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

namespace fs = std::filesystem;

class RegistryFiles : public test::StoreTest {
 protected:
  std::optional<fs::path> of(const std::string& location) {
    const auto found = local_files(*store_, {.model = "net", .version = 1, .location = location});
    if (!found) ADD_FAILURE() << found.error().text();
    return found ? *found : std::nullopt;
  }
};

TEST_F(RegistryFiles, AreThoseOfTheRunOrTheLoggedModel) {
  const std::string run = new_run(), model = *store_->create_model({.name = "net"});
  const fs::path folder = *store_->artifacts(run) / "net";
  fs::create_directories(folder);
  fs::create_directory_symlink("/etc", *store_->artifacts(run) / "link");
  EXPECT_EQ(of("mlflow-artifacts:/0/" + run + "/artifacts/net"), fs::canonical(folder));
  EXPECT_EQ(of("runs:/" + run + "/net"), fs::canonical(folder));
  EXPECT_EQ(of("mlflow-artifacts:/0/models/" + model + "/artifacts"),
            fs::canonical(*store_->model_artifacts(model)));
  for (const std::string& none :
       {"mlflow-artifacts:/0/" + run + "/artifacts/gone", "mlflow-artifacts:/0/" + run + "/artifacts/..",
        "mlflow-artifacts:/0/" + run + "/artifacts/link", "runs:/" + std::string(32, '0') + "/net",
        std::string("mlflow-artifacts:/"), std::string("runs:/"), std::string("s3://a/b"),
        std::string("/etc")})
    EXPECT_EQ(of(none), std::nullopt) << none;
}

TEST_F(RegistryFiles, OwnersAreReadAsTheyAreWritten) {
  const std::string run(32, 'a'), model = "m-" + run;
  EXPECT_EQ(files_owner("runs:/" + run + "/a/b"), (FilesOwner{false, run, "a/b"}));
  EXPECT_EQ(files_owner("mlflow-artifacts:/0/" + run + "/artifacts"), (FilesOwner{false, run, ""}));
  EXPECT_EQ(files_owner("mlflow-artifacts:/0/models/" + model + "/artifacts/x"),
            (FilesOwner{true, model, "x"}));
  for (const std::string& none :
       {"runs:/" + run + "/../x", "mlflow-artifacts:/0/" + run + "/artifacts/../../x",
        std::string("runs:/x/y"), "mlflow-artifacts://host/0/" + run, std::string("s3://a"), std::string()})
    EXPECT_EQ(files_owner(none).has_value() && files_owner(none)->rest.find("..") != std::string::npos, false)
        << none;
  EXPECT_FALSE(files_owner("runs:/" + run + "/../x"));
  EXPECT_FALSE(files_owner("s3://a"));
}

TEST_F(RegistryFiles, TheModelIsFoundAmongThem) {
  const fs::path folder = directory_->path() / "model";
  EXPECT_EQ(model_file(folder), std::nullopt);
  fs::create_directories(folder / "data");
  std::ofstream(folder / "MLmodel") << "x";
  EXPECT_EQ(model_file(folder), std::nullopt);
  std::ofstream(folder / "data" / "small.safetensors") << "x";
  std::ofstream(folder / "data" / "large.safetensors") << "xxxx";
  EXPECT_EQ(model_file(folder), folder / "data" / "large.safetensors");
  std::ofstream(folder / "model.onnx") << "x";
  EXPECT_EQ(model_file(folder), folder / "model.onnx");
}

}  // namespace
}  // namespace plimsoll::store
