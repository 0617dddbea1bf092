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

/// `pass` as the last word of a name, `token` glued to another word.
TEST(Secrets, AreToldByShortAndGluedNames) {
  for (const char* secret : {"DB_PASS", "--pass", "pass", "smtp.pass", "dbPass", "DBPASS", "DB_PASS2",
                             "pass_", "NGROK_AUTHTOKEN", "--accesstoken", "HFTOKEN", "--hf-token",
                             "authToken", "pad_token_secret", "IMAGE_TOKEN", "INSTALL_PASS", "pass_key"})
    EXPECT_TRUE(is_secret_name(secret)) << secret;
  EXPECT_EQ(masked("DB_PASS", "abc"), "***");
  EXPECT_THAT(masked_command({"t", "--pass", "abc", "--accesstoken=abc", "HFTOKEN=abc", "--db-pass=abc"}),
              ElementsAre("t", "--pass", "***", "--accesstoken=***", "HFTOKEN=***", "--db-pass=***"));
  EXPECT_THAT(masked_command({"sh", "-c", "A=1 DB_PASS=abc go --pass def --max-tokens 512"}),
              ElementsAre("sh", "-c", "A=1 DB_PASS=*** go --pass *** --max-tokens 512"));
  EXPECT_EQ(masked_text("+DB_PASS=hunter2\n+  \"pass\": \"hunter2\"\n"),
            "+DB_PASS=***\n+  \"pass\": \"***\"\n");
}

/// What describes a training stays legible.
TEST(Secrets, AreNotSeenInParametersOfTrainings) {
  for (const char* open :
       {"tokenizer",          "detokenize",  "max_tokens",  "num_tokens",     "tokens",
        "--tokens-per-step",  "passes",      "compass",     "--bypass",       "pass_rate",
        "--pass-rate",        "pass@1",      "passRate",    "--passthrough",  "forward_pass",
        "--two-pass",         "low-pass",    "--pad-token", "eos_token_id",   "bosToken",
        "bytes_per_token",    "--max-token", "subtoken",    "--token-budget", "token_type_ids",
        "--image-token-index"})
    EXPECT_FALSE(is_secret_name(open)) << open;
  const std::vector<std::string> command = {
      "train",
      "--max-tokens",
      "512",
      "--tokenizer",
      "gpt2",
      "--bypass",
      "true",
      "--pass-rate",
      "0.5",
      "--passes=3",
      "--eos-token-id",
      "2",
      "--num_tokens=12",
      "--pad-token",
      "<pad>",
      "sh -c 'train --max-tokens 512 --tokenizer gpt2 --bypass true --eos-token-id 2'"};
  EXPECT_EQ(masked_command(command), command);
  for (const char* text :
       {"+max_tokens = 512\n", "+tokenizer = \"gpt2-0123456789abc\"\n", "+pass_rate: 0.5\n",
        "+    except KeyError: pass\n", "+PASS: forward_test\n", "+eos_token = \"<|endoftext|>\"\n",
        "+forward_pass = timed_pass_0123\n", "+cfg[\"max_tokens\"] = \"512\"\n"})
    EXPECT_EQ(masked_text(text), text);
}

TEST(Secrets, GivenBySubscriptsAndCallsAreMasked) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"+os.environ[\"WANDB_API_KEY\"] = \"0123456789abcdef0123456789abcdef01234567\"\n",
            "+os.environ[\"WANDB_API_KEY\"] = \"***\"\n"},
           {"+os.environ['HF_TOKEN'] = 'abc'\n", "+os.environ['HF_TOKEN'] = '***'\n"},
           {"+headers[\"Authorization\"] = \"tok\"\n", "+headers[\"Authorization\"] = \"***\"\n"},
           {"+cfg[\"db\"][ 'password' ]='abc'\n", "+cfg[\"db\"][ 'password' ]='***'\n"},
           {"+cfg[\"password\"] = 12345678\n", "+cfg[\"password\"] = ***\n"},
           {"+os.environ.setdefault(\"API_KEY\", \"abc\")\n",
            "+os.environ.setdefault(\"API_KEY\", \"***\")\n"},
           {"+x->set( 'password' , 'abc', 1);\n", "+x->set( 'password' , '***', 1);\n"},
           {"+os.putenv(\"X_TOKEN\", \"v\")\n", "+os.putenv(\"X_TOKEN\", \"***\")\n"},
           {"+run([\"train\", \"--api-key\", \"abc\", \"--lr\", \"1\"])\n",
            "+run([\"train\", \"--api-key\", \"***\", \"--lr\", \"1\"])\n"},
           {"+f(x=1, y=g(\"client_secret\", \"a,b)\"), z=2)\n",
            "+f(x=1, y=g(\"client_secret\", \"***\"), z=2)\n"},
       })
    EXPECT_EQ(masked_text(text), expected);
  for (const char* code :
       {"+cfg[\"password\"] = args.password\n", "+cache[key] = rows_0123456789\n", "+d[\"key\"] = \"loss\"\n",
        "+d[\"key\"] = value_of_row_12\n", "+fields = [\"user\", \"password\", \"email\"]\n",
        "+d.setdefault(\"key\", \"loss\")\n", "+p.add_argument(\"--api-key\", \"-k\")\n",
        "+get(\"password\", default)\n", "+os.environ[\"API_KEY\"] = os.environ[\"OTHER\"]\n"})
    EXPECT_EQ(masked_text(code), code);
}

TEST(Secrets, InAnyQuotesAreMaskedToTheirEnd) {
  EXPECT_THAT(masked_command({"sh", "-c", R"(curl -d "{\"password\": \"hunter2\", \"n\": 3}" h)"}),
              ElementsAre("sh", "-c", R"(curl -d "{\"password\": \"***\", \"n\": 3}" h)"));
  EXPECT_THAT(masked_command({"sh", "-c", R"(sh -c "go --password \"hunter2 x\" --lr 1" --pass "a\"b c" d)"}),
              ElementsAre("sh", "-c", R"(sh -c "go --password *** --lr 1" --pass *** d)"));
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"(+s = "{\"password\": \"a\\\"bc\", \"n\": 3}")", R"(+s = "{\"password\": \"***\", \"n\": 3}")"},
           {R"(+s = "{\\\"password\\\": \\\"abc\\\"}")", R"(+s = "{\\\"password\\\": \\\"***\\\"}")"},
           {R"(+api_key = """x""" + y)", R"(+api_key = """***""" + y)"},
           {R"(+api_key = '''x'y"z''')", R"(+api_key = '''***''')"},
           {R"(+password = "a\"bcd" + e)", R"(+password = "***" + e)"},
           {R"(+password = 'a\'b\\' + e)", R"(+password = '***' + e)"},
           {R"(+password = "" + e)", R"(+password = "" + e)"},
           {"+password = \"hunter2\n+x\n", "+password = \"***\n+x\n"},
           {"+api_key = \"\"\"hunter2\n", "+api_key = \"\"\"***\n"},
       })
    EXPECT_EQ(masked_text(text), expected);
  EXPECT_EQ(masked_text("+print(\"password=\" + x)\n"), "+print(\"password=\" + x)\n");
}

TEST(Secrets, ThatLookLikeReferencesAreMaskedUnlessTheyAreThat) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"(password = "$ecret!1")", R"(password = "***")"},
           {R"(password = '$2b$12$abc')", R"(password = '***')"},
           {R"(password = "${A}bc")", R"(password = "***")"},
           {R"(password = "<hunter")", R"(password = "***")"},
           {R"(password = "<a>b2")", R"(password = "***")"},
       })
    EXPECT_EQ(masked_text(text), expected);
  for (const char* open : {R"(password = "$NAME")", R"(password="${NAME}")", R"(password="$1")",
                           R"(api_key: "${{ secrets.KEY }}")", R"(api_key = "<your key>")",
                           R"(API_KEY="<YOUR_KEY>")", "password=\"$(cat file)\""})
    EXPECT_EQ(masked_text(open), open);
}

/// Lines that open a value everywhere and end few of them: passed in linear time, and what follows is masked.
TEST(Secrets, AfterHostileLinesAreMasked) {
  constexpr std::size_t kTimes = 20'000;
  for (const std::string_view part :
       {"key=", "key=$", "key=\"", "key='key=\"", "key=\\\"", "key=\"\"\"", "f(\"key\",", "f(\"key\"",
        "[\"key\"]", "key=\"\\", "key=\\\\\\\"key='''", "\"--key\",", "--key \\\"", "pass_", "\\",
        "key=\\\\\\\\\\\\\\\\\""}) {
    std::string line;
    for (std::size_t i = 0; i < kTimes; ++i) line += part;
    EXPECT_TRUE(masked_text(line + "\n+password=hunter2\n").ends_with("\n+password=***\n")) << part;
    EXPECT_TRUE(masked_command({"x " + line + "\ngo --password hunter2"})[0].ends_with("go --password ***"))
        << part;
  }
}

}  // namespace
}  // namespace plimsoll::running
