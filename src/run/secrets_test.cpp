#include "run/secrets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Secrets, AreToldByTheirNames) {
  for (const char* secret : {"PGPASSWORD", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "apiKey", "--auth", "JWT",
                             "SLURM_JWT", "TS_AUTHKEY", "authKey", "hfToken", "GITHUB_PAT", "passphrase",
                             "COOKIE", "WANDB_API_KEY", "client-secret"})
    EXPECT_TRUE(is_secret_name(secret)) << secret;
  for (const char* open : {"--tokenizer", "--max-tokens", "KEYBOARD", "MONKEY", "CUDA_CACHE_PATH", "PATTERN",
                           "OMP_NUM_THREADS", "--author", "keys_per_second", "LD_LIBRARY_PATH"})
    EXPECT_FALSE(is_secret_name(open)) << open;
}

TEST(Secrets, OfTheEnvironmentAreMasked) {
  EXPECT_EQ(masked("WANDB_API_KEY", "abc"), "***");
  EXPECT_EQ(masked("SLURM_JWT", "abc"), "***");
  EXPECT_EQ(masked("DATABASE_URL", "postgres://me:hunter2@host/db"), "postgres://***@host/db");
  EXPECT_EQ(masked("DATABASE_URL", "postgres://me:p@ss/word@host/db"), "postgres://***@host/db");
  EXPECT_EQ(masked("HEADER", "Authorization: Bearer abc"), "Authorization: Bearer ***");
  EXPECT_EQ(masked("HEADER", "basic YWJj"), "basic ***");
  EXPECT_EQ(masked("OMP_NUM_THREADS", "4"), "4");
  EXPECT_EQ(masked("LD_LIBRARY_PATH", "/usr/local/cuda-12.4/lib64:/opt/x86_64"),
            "/usr/local/cuda-12.4/lib64:/opt/x86_64");
  EXPECT_EQ(masked("TF_CONFIG", R"({"cluster": 1, "auth": "abc"})"), R"({"cluster": 1, "auth": "***"})");
}

/// Whatever they are called, and whatever stands around them.
TEST(Secrets, AreToldByTheShapeOfTheirValues) {
  for (const char* secret : {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g",
                             "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345", "sk-proj-abcdefghijklmnopqrstuvwx",
                             "sk-ant-api03-abcdefghijklmnop", "ghp_0123456789abcdefghijABCDEFGHIJ012345",
                             "github_pat_11ABCDEFG0abcdefghijkl", "AKIAIOSFODNN7EXAMPLE",
                             "ASIAIOSFODNN7EXAMPLE", "glpat-abcdefghij0123456789",
                             "xoxb-123456789012-abcdefghijkl", "AIzaSyA0123456789abcdefghijklmnopqrstuv"}) {
    EXPECT_EQ(masked("CUDA_THING", secret), "***");
    EXPECT_EQ(masked_text(fmt::format("+  call(\"{}\")\n", secret)), "+  call(\"***\")\n");
    EXPECT_THAT(masked_command({"train", fmt::format("--x={}", secret), secret}),
                ElementsAre("train", "--x=***", "***"));
  }
}

TEST(Secrets, OfPrivateKeysNothingIsLeft) {
  const std::string key =
      "-----BEGIN OPENSSH PRIVATE KEY-----\n+b3BlbnNzaC1rZXktdjEAAAAA\n+AAAABG5vbmU=\n+-----END OPENSSH "
      "PRIVATE "
      "KEY-----";
  EXPECT_EQ(masked_text("+x\n+" + key + "\n+y = 1\n"),
            "+x\n+-----BEGIN OPENSSH PRIVATE KEY----- ***\n+y = 1\n");
  EXPECT_THAT(masked_text("+" + key.substr(0, 60)), Not(HasSubstr("b3Bl"))) << "one that is cut";
  const std::string escaped =
      R"("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbC=\n-----END RSA PRIVATE KEY-----\n")";
  EXPECT_EQ(masked_text("pem = " + escaped), R"(pem = "-----BEGIN RSA PRIVATE KEY----- ***\n")");
  EXPECT_EQ(masked_text("if line == \"-----BEGIN PRIVATE KEY-----\": parse(line)\n"),
            "if line == \"-----BEGIN PRIVATE KEY----- ***\": parse(line)\n");
}

TEST(Secrets, OfACommandAreMasked) {
  EXPECT_THAT(
      masked_command({"train", "--token", "abc", "--lr", "0.1", "--api-key=xyz", "--password", "-dash"}),
      ElementsAre("train", "--token", "***", "--lr", "0.1", "--api-key=***", "--password", "***"));
  EXPECT_THAT(masked_command({"go", "-auth-key", "abc", "-k", "4"}),
              ElementsAre("go", "-auth-key", "***", "-k", "4"));
  EXPECT_THAT(masked_command({"sh", "-c", "A=1 HF_TOKEN=abc python t.py --password hunter2 --lr 0.1"}),
              ElementsAre("sh", "-c", "A=1 HF_TOKEN=*** python t.py --password *** --lr 0.1"));
  EXPECT_THAT(masked_command({"--password=two words", "curl", "https://h/x?token=abc&n=3"}),
              ElementsAre("--password=***", "curl", "https://h/x?token=***"));
  EXPECT_THAT(masked_command({"curl", "-H", "Authorization: Bearer abc"}),
              ElementsAre("curl", "-H", "Authorization: Bearer ***"));
}

TEST(Secrets, OfADiffAreMaskedAndCodeStays) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"+API_KEY = \"abc\"\n", "+API_KEY = \"***\"\n"},
           {"+password: str = 'hunter2'\n", "+password: str = '***'\n"},
           {"+secret = b'hunter2'\n", "+secret = b'***'\n"},
           {"+headers = {'Authorization': f'Bearer abc'}\n", "+headers = {'Authorization': f'***'}\n"},
           {"+get(\"https://h/x?n=3&api_key=abc&m=4\")\n", "+get(\"https://h/x?n=3&api_key=***&m=4\")\n"},
           {"+  password: hunter2\n", "+  password: ***\n"},
           {"+export DB_PASSWORD=hunter2\n", "+export DB_PASSWORD=***\n"},
           {R"(+  "client_secret": "abc",)", R"(+  "client_secret": "***",)"},
           {"+token = \"0123456789abcdef0123\"\n", "+token = \"***\"\n"},
       })
    EXPECT_EQ(masked_text(text), expected);
  for (const char* code :
       {"+for key in keys:\n", "+token = tokenizer.next()\n", "+best = max(rows, key=lambda r: r.loss)\n",
        "+pad_token = \"<pad>\"\n", "+password = getpass.getpass()\n", "+password = os.environ[\"PW\"]\n",
        "+index 3f2a..9c1d 100644\n", "+secret = None\n", "+url = \"https://host/a@b\"\n",
        "+d[\"key\"] = value\n"})
    EXPECT_EQ(masked_text(code), code);
}

}  // namespace
}  // namespace plimsoll::running
