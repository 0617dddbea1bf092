#include "serve/mlflow/disposition.hpp"

#include <gtest/gtest.h>

#include "serve/mlflow/content_type.hpp"

namespace plimsoll::serve::mlflow {
namespace {

TEST(Attachment, HasAPlainNameBesideTheTrueOne) {
  EXPECT_EQ(attachment("model.pkl"), "attachment; filename=\"model.pkl\"; filename*=UTF-8''model.pkl");
  EXPECT_EQ(attachment("a b.txt"), "attachment; filename=\"a b.txt\"; filename*=UTF-8''a%20b.txt");
  EXPECT_EQ(attachment("größe \u2603.txt"),
            "attachment; filename=\"gr__e _.txt\"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%E2%98%83.txt");
}

TEST(Attachment, ANameEndsNoHeaderAndNoQuotes) {
  EXPECT_EQ(attachment("a\"; x=\"b\\c%41\r\n"),
            "attachment; filename=\"a_; x=_b_c_41__\"; filename*=UTF-8''a%22%3B%20x%3D%22b%5Cc%2541%0D%0A");
}

TEST(ContentType, OfFilesThatPeopleRead) {
  for (const char* name :
       {"MLmodel", "MLproject", "mlproject", "notes.txt", "run.LOG", "conda.yaml", "a.properties", "a.tsv",
        "README", "Dockerfile", "Makefile", "LICENSE", "train.js", "a.b.rst"})
    EXPECT_EQ(content_type(name), "text/plain") << name;
  EXPECT_EQ(content_type("a.json"), "application/json");
  EXPECT_EQ(content_type("plot.PNG"), "image/png");
  for (const char* name : {"model.pkl", "weights", "data.bin", "txt", ".hidden", "a."})
    EXPECT_EQ(content_type(name), "application/octet-stream") << name;
}

}  // namespace
}  // namespace plimsoll::serve::mlflow
