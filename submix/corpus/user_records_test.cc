#include "submix/corpus/user_records.h"

#include <utility>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/json_record.h"

namespace submix::corpus {
namespace user_records_test {

using base::IsOk;
using base::Status;
using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class UserRecordsTest : public ::testing::Test {
 protected:
  void Write(const std::string& content, const std::string& name = "c.jsonl") {
    path_ = directory_.Write(name, content);
  }
  Status Read() {
    records_.clear();
    CorpusFile file(path_);
    file.user_column = columns_.user;
    file.text_column = columns_.text;
    return ReadUserRecords(file, [this](const UserRecord& record) {
      records_.push_back(record);
      return base::OkStatus();
    });
  }
  Status ReadText(const std::string& content) {
    Write(content);
    return Read();
  }

  base::TemporaryDirectory directory_;
  std::string path_ = directory_.File("c.jsonl");
  struct {
    std::string user = "user";
    std::string text = "text";
  } columns_;
  std::vector<UserRecord> records_;
};

MATCHER_P3(IsRecord, user, text, line, "") {
  return arg.user == user && arg.text == text && arg.line == line;
}

// An error of line `line` that holds `reason` and none of the file's words.
auto IsRefused(int line, const std::string& reason) {
  return StatusIs(StatusCode::kInvalidArgument,
                  AllOf(HasSubstr("c.jsonl:" + std::to_string(line) + ": "), HasSubstr(reason),
                        Not(HasSubstr("secret"))));
}

TEST_F(UserRecordsTest, ReadsRecordsInOrder) {
  SUBMIX_ASSERT_OK(
      ReadText("{\"user\": \"a\", \"text\": \"one\\n\\u00e9\"}\n"
               "{\"text\": \"\", \"user\": \"b\"}\n"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "one\né", 1), IsRecord("b", "", 2)));
}

TEST_F(UserRecordsTest, ToleratesBlankLinesWindowsLineEndsByteOrderMarkAndNoLastNewline) {
  SUBMIX_ASSERT_OK(
      ReadText("\xef\xbb\xbf{\"user\": \"a\", \"text\": \"x\"}\r\n"
               "\r\n \t\n"
               "{\"user\": \"b\", \"text\": \"y\"}"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "x", 1), IsRecord("b", "y", 4)));
}

TEST_F(UserRecordsTest, IgnoresOtherFieldsHoweverDeep) {
  SUBMIX_ASSERT_OK(
      ReadText(R"({"id": 7, "meta": {"user": 1, "text": ["user", {"text": 2}]}, "user": "a", )"
               R"("tags": ["user", "text"], "text": "x", "more": null, "ok": true, "z": -1.5e3})"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "x", 1)));
}

TEST_F(UserRecordsTest, TakesTheLastOfEqualFields) {
  SUBMIX_ASSERT_OK(ReadText(R"({"user": 3, "user": "a", "text": "x", "text": "y"})"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "y", 1)));
  EXPECT_THAT(ReadText(R"({"user": "a", "text": "x", "text": {}})"), IsRefused(1, "\"text\""));
}

TEST_F(UserRecordsTest, RefusesMissingAndMistypedFieldsByLine) {
  const std::string good = "{\"user\": \"a\", \"text\": \"secret\"}\n";
  EXPECT_THAT(ReadText(good + R"({"text": "secret"})"), IsRefused(2, "\"user\" is missing"));
  EXPECT_THAT(ReadText(good + R"({"user": "secret"})"), IsRefused(2, "\"text\" is missing"));
  EXPECT_THAT(ReadText(good + R"({"user": "", "text": "secret"})"),
              IsRefused(2, "\"user\" is empty"));
  struct Other {
    const char* value;
    const char* kind;
  };
  for (const Other& other : {Other{"1.5", "a number with a fraction"},
                             {"1.0", "a number with a"},
                             {"1e3", "a number with a"},
                             {"null", "null"},
                             {"true", "true or false"},
                             {"[\"secret\"]", "an array"},
                             {"{\"a\": \"s\"}", "an object"}}) {
    const std::string value = other.value;
    EXPECT_THAT(
        ReadText(good + R"({"text": "secret", "user": )" + value + "}"),
        IsRefused(2, "\"user\" is not a string or an integer but " + std::string(other.kind)));
    EXPECT_THAT(ReadText(good + R"({"user": "secret", "text": )" + value + "}"),
                IsRefused(2, "\"text\" is not a string but " + std::string(other.kind)));
  }
  EXPECT_THAT(ReadText(good + R"({"user": "secret", "text": 1})"),
              IsRefused(2, "\"text\" is not a string but a number"));
}

TEST_F(UserRecordsTest, IntegersAreUsersByTheirDecimalText) {
  for (const char* user : {"0", "7", "-7", "18446744073709551615", "-9223372036854775808",
                           "12345678901234567890123", "-12345678901234567890123"}) {
    const std::string written = user;
    SUBMIX_ASSERT_OK(ReadText(R"({"user": )" + written + R"(, "text": "x"})" + "\n" +
                              R"({"user": ")" + written + R"(", "text": "y"})"));
    EXPECT_THAT(records_, ElementsAre(IsRecord(written, "x", 1), IsRecord(written, "y", 2)));
  }
  EXPECT_THAT(ReadText(R"({"user": 007, "text": "x"})"), IsRefused(1, "invalid JSON"));
}

TEST_F(UserRecordsTest, SaysWhyJsonIsInvalidByLine) {
  const std::string good = "\n{\"user\": \"a\", \"text\": \"x\"}\n";
  struct Line {
    const char* line;
    const char* reason;
  };
  for (const Line& invalid : {
           Line{"secret", "no JSON value begins so"},
           Line{"{\"user\": \"secret\"", "ends before the value does"},
           Line{"{\"user\": \"secret\",", "ends before the value does"},
           Line{"{", "ends before the value does"},
           Line{"[", "ends before the value does"},
           Line{"{\"user\": \"secret", "ends within a string"},
           Line{"{\"user\": \"secret\", \"text\": \"x\"} secret", "no JSON value begins so"},
           Line{"{\"user\": \"secret\"}{\"user\": \"secret\"}", "one object a line"},
           Line{"{'user': 'secret'}", "double quotes"},
           Line{"{user: \"secret\"}", "no JSON value begins so"},
           Line{"{\"user\": \"secret\", \"n\": NaN}", "NaN is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": [nan]}", "nan is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": Infinity}", "Infinity is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": -Infinity}", "Infinity is no JSON"},
           Line{"{\"user\": \"secret\", \"n\": None}", "None is Python's"},
           Line{"{\"user\": \"secret\", \"n\": True}", "True is Python's"},
           Line{"{\"user\": \"secret\", \"text\": 1e999}", "a number too large"},
           Line{"{\"user\": \"secret\", \"text\": .5}", "no JSON value begins so"},
           Line{"{\"user\": \"secret\", \"text\": +5}", "no JSON value begins so"},
           Line{"{\"user\": \"secret\", \"text\": 5.}", "no number"},
           Line{"{\"user\": \"secret\",}", "a name in double quotes is missing"},
           Line{"{\"user\" \"secret\"}", "a colon is missing"},
           Line{"{\"user\": \"secret\" \"text\": \"x\"}", "a comma or a closing brace"},
           Line{"{\"user\": [\"secret\" \"x\"]}", "a comma or a closing bracket"},
           Line{"{\"user\": }", "a value is missing"},
           Line{"{\"user\": \"secret \\ud83d of\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\ud83d\\u0041\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\udc00\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\ud83d\\ud83d\"}", "surrogate pair"},
           Line{"{\"user\": \"secret \\x41\"}", "a backslash before"},
           Line{"{\"user\": \"secret \\u12g4\"}", "\\u without four hex digits"},
           Line{"{\"user\": \"secret\ttab\"}", "a control character that is not escaped"},
           // What the reader's own words are taken from must not be the line's.
           Line{"{\"user\": \"secret surrogate\" x", "no JSON value begins so"},
           Line{"{\"user\": \"secret last read hex digits\", x", "no JSON value begins so"},
       }) {
    EXPECT_THAT(ReadText(good + invalid.line), IsRefused(3, std::string("of the line: ")))
        << invalid.line;
    EXPECT_THAT(Read(), IsRefused(3, invalid.reason)) << invalid.line;
    EXPECT_THAT(records_, SizeIs(1));
  }
  for (const char* line : {"[]", "\"secret\"", "1", "[{\"user\": \"a\", \"text\": \"secret\"}]"}) {
    EXPECT_THAT(ReadText(good + line), IsRefused(3, "expected an object")) << line;
  }
}

TEST_F(UserRecordsTest, RefusesANulByteAndWhatFollowsIt) {
  EXPECT_THAT(ReadText(std::string("{\"user\": \"a\", \"text\": \"x\"}\0{\"secret\"", 36)),
              IsRefused(1, "invalid JSON at byte 27 of the line: a NUL byte"));
}

TEST_F(UserRecordsTest, RefusesIllFormedUtf8ByLine) {
  EXPECT_THAT(ReadText("{\"user\": \"a\", \"text\": \"secret \xff\"}\n"), IsRefused(1, "UTF-8"));
  EXPECT_THAT(ReadText("{\"user\": \"a\", \"text\": \"secret \xe9t\xe9\"}\n"),
              IsRefused(1, "convert the file"));
}

TEST_F(UserRecordsTest, SurvivesDeepNesting) {
  const std::string deep(1 << 20, '[');
  EXPECT_THAT(ReadText("{\"user\": \"a\", \"text\": " + deep), IsRefused(1, "invalid JSON"));
}

TEST_F(UserRecordsTest, RefusesAFileWithoutRecords) {
  for (const char* content : {"", "\n", "\r\n\n  \n", "\xef\xbb\xbf"}) {
    EXPECT_THAT(ReadText(content), StatusIs(StatusCode::kInvalidArgument,
                                            AllOf(HasSubstr("c.jsonl"), HasSubstr("no record"))));
  }
}

TEST_F(UserRecordsTest, ReportsAMissingFile) {
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound, HasSubstr("c.jsonl")));
  path_ = directory_.File("c.jsonl.xz");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound, HasSubstr("c.jsonl.xz")));
}

TEST_F(UserRecordsTest, ReportsADirectory) {
  path_ = directory_.path();
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInternal, HasSubstr(directory_.path())));
}

TEST_F(UserRecordsTest, EndsWithTheSinksFirstError) {
  Write("{\"user\": \"a\", \"text\": \"x\"}\n{\"user\": \"b\", \"text\": \"y\"}\n");
  int num_calls = 0;
  EXPECT_THAT(ReadUserRecords(path_,
                              [&](const UserRecord&) {
                                ++num_calls;
                                return base::ResourceExhaustedError("enough");
                              }),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr(path_ + ":1: enough")));
  EXPECT_EQ(num_calls, 1);
}

TEST_F(UserRecordsTest, ReadsVeryLongLines) {
  const std::string text(5 << 20, 'x');
  SUBMIX_ASSERT_OK(ReadText("{\"user\": \"a\", \"text\": \"" + text + "\"}\n" +
                            "{\"user\": \"b\", \"text\": \"y\"}\n"));
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", text, 1), IsRecord("b", "y", 2)));
}

TEST_F(UserRecordsTest, ReadsFieldsOfOtherNames) {
  Write("{\"author\": \"a\", \"user\": 1, \"body\": \"x\"}\n");
  columns_ = {"author", "body"};
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "x", 1)));
  EXPECT_THAT(ReadText("{\"user\": \"secret\", \"body\": \"x\"}\n"),
              IsRefused(1, "\"author\" is missing: expected an object such as {\"author\": "));
}

TEST_F(UserRecordsTest, ReadsCsvByItsHeader) {
  for (const char* name : {"c.csv", "C.CSV"}) {
    Write(
        "\xef\xbb\xbfid,text,user\r\n"
        "1,\"two\r\nlines, and \"\"quotes\"\"\",a\r\n"
        "2,,b\r\n",
        name);
    SUBMIX_ASSERT_OK(Read());
    EXPECT_THAT(records_, ElementsAre(IsRecord("a", "two\r\nlines, and \"quotes\"", 2),
                                      IsRecord("b", "", 4)));
  }
  columns_ = {"id", "user"};
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, ElementsAre(IsRecord("1", "a", 2), IsRecord("2", "b", 4)));
}

TEST_F(UserRecordsTest, RefusesCsvThatIsNotWhole) {
  struct Refused {
    std::string content;
    int line;
    const char* reason;
  };
  for (const Refused& refused :
       {Refused{
            "user,words\na,secret\n", 1,
            "0 columns \"text\", expected one (--text-column); its columns, by commas: \"user\", "
            "\"words\""},
        Refused{"user;text\na;secret\n", 1,
                "columns \"user\", \"text\" are separated by semicolons, expected commas"},
        Refused{"id\tuser\ttext\na\tb\tsecret\n", 1,
                "columns \"id\", \"user\", \"text\" are separated by tabs, expected commas"},
        Refused{"user|text\na|secret\n", 1, "are separated by bars"},
        Refused{"user\na\n", 1, "its columns, by commas: \"user\""},
        // No header, it seems.
        Refused{"u1,this is what a user wrote: secret\n", 1, "by commas: \"u1\", (long)"},
        Refused{"user,text,user\na,secret,b\n", 1, "2 columns \"user\""},
        Refused{"user,text\na,x\nb,secret,y\n", 3, "the row has 3 fields, the header 2"},
        Refused{"user,text\nsecret\n", 2, "the row has 1 fields"},
        Refused{"user,text\n,secret\n", 2, "\"user\" is empty"},
        Refused{"user,text\na,secret \xff\n", 2, "not UTF-8"},
        Refused{{"user,text\na,secret\0\n", 20}, 2, "NUL byte"},
        Refused{"user,text\na,sec\"ret\n", 2, "not CSV: a quote must begin"},
        Refused{"user,text\na,x\nb,\"secret\n\n", 3, "the last quote is not closed"}}) {
    Write(refused.content, "c.csv");
    EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("c.csv:" + std::to_string(refused.line) + ": "),
                                       HasSubstr(refused.reason), Not(HasSubstr("secret")))))
        << refused.content;
  }
  for (const char* content : {"", "user,text\n"}) {
    Write(content, "c.csv");
    EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no record")));
  }
}

TEST_F(UserRecordsTest, KnowsUserKeyedFilesByTheirNames) {
  for (const char* name :
       {"a.jsonl", "a.csv", "a.CSV", "b/a.jsonl.gz", "a.csv.zst", "a.jsonl.xz"}) {
    EXPECT_TRUE(IsUserKeyed(name)) << name;
  }
  for (const char* name : {"a.txt", "a.txt.gz", "jsonl", "a.csv.txt"}) {
    EXPECT_FALSE(IsUserKeyed(name)) << name;
  }
}

TEST_F(UserRecordsTest, ReadsTheBundledCorpus) {
  path_ = SUBMIX_DATA_DIR "/shakespeare.jsonl";
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, SizeIs(7097));
  EXPECT_EQ(records_.front().user, "First Citizen");
  EXPECT_EQ(records_.back().line, 7097);
}

TEST_F(UserRecordsTest, ReadsTheSharedBlogs) {
  path_ = SUBMIX_SHARED_DIR "/data/private/blogs.heldout.jsonl.xz";
  if (!base::FileExists(path_)) GTEST_SKIP() << path_ << " is not there";
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, SizeIs(2708));
}

// --- Records that are no text

TEST_F(UserRecordsTest, ARecordMayBeAConversationOrAPromptWithItsCompletion) {
  SUBMIX_ASSERT_OK(ReadText(
      R"({"user": "a", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", )"
      R"("content": [{"type": "text", "text": "a"}]}], "text": null})"
      "\n"
      R"({"user": "b", "prompt": "is it?", "completion": " it is", "text": null, "messages": null})"
      "\n"
      R"({"user": "c", "text": "x", "prompt": "why", "messages": 3})"
      "\n"));
  ASSERT_THAT(records_, SizeIs(3));
  EXPECT_THAT(records_[0].messages,
              ElementsAre(chat::ChatMessage{chat::ChatRole::kUser, "q"},
                          chat::ChatMessage{chat::ChatRole::kAssistant, "a"}));
  EXPECT_EQ(records_[0].text, "");
  EXPECT_EQ(records_[0].Written(), "q\na");
  EXPECT_THAT(records_[1], IsRecord("b", "is it? it is", 2));
  EXPECT_EQ(records_[1].prompt_bytes, 6u);
  EXPECT_THAT(records_[2], IsRecord("c", "x", 3));
  EXPECT_EQ(records_[2].prompt_bytes, std::nullopt);
}

TEST_F(UserRecordsTest, WhatIsNoRecordOfOneFormIsRefused) {
  const std::string talk = R"([{"role": "assistant", "content": "secret"}])";
  const std::pair<std::string, std::string> cases[] = {
      {R"("text": "secret", "messages": )" + talk, "more than one of"},
      {R"("prompt": "secret", "completion": "x", "messages": )" + talk, "more than one of"},
      {R"("prompt": "secret", "completion": "x", "text": "y")", "more than one of"},
      {R"("messages": "secret")", "not a list"},
      {R"("messages": [])", "no answer"},
      {R"("messages": [{"role": "user", "content": "secret"}])", "no answer"},
      {R"("messages": [{"role": "user", "content": 3}])", "has no content"},
      {R"("prompt": "secret")", "\"completion\" is missing"},
      {R"("completion": "secret")", "\"prompt\" is missing"},
      {R"("prompt": ["secret"], "completion": "x")", "\"prompt\" is not a string but an array"},
      {R"("prompt": "secret", "completion": 4)", "\"completion\" is not a string but a number"},
      {R"("prompt": "secret", "completion": "")", "\"completion\" is empty"},
      {R"("messages": null)", "\"text\" is missing"},
      {R"("messages": )" + talk + R"(, "x": {"secret": 1, "secret": 2})", "says a name twice"},
      {R"("messages": )" + talk + R"(, "x": [[[[[[[[[["secret"]]]]]]]]]])", "within objects"},
  };
  for (const auto& [fields, reason] : cases) {
    EXPECT_THAT(ReadText("{\"user\": \"u\", \"text\": \"x\"}\n{\"user\": \"u\", " + fields + "}"),
                IsRefused(2, reason))
        << fields;
  }
}

TEST_F(UserRecordsTest, ACsvFileMayHoldTheOtherForms) {
  Write("user,messages\na,\"[{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"x, y\"\"}]\"\n",
        "c.csv");
  SUBMIX_ASSERT_OK(Read());
  ASSERT_THAT(records_, SizeIs(1));
  EXPECT_EQ(records_[0].Written(), "x, y");
  EXPECT_THAT(records_[0].messages, SizeIs(1));
  Write("prompt,completion,user\nis it?, it is,a\n", "c.csv");
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "is it? it is", 2)));
  EXPECT_EQ(records_[0].prompt_bytes, 6u);
  // A table of all forms: a row fills one.
  Write(
      "user,text,messages,prompt,completion\na,x,,,\na,,,p,c\n"
      "a,,\"[{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"y\"\"}]\",,\na,,,,\n",
      "c.csv");
  SUBMIX_ASSERT_OK(Read());
  ASSERT_THAT(records_, SizeIs(4));
  EXPECT_EQ(records_[0].text, "x");
  EXPECT_EQ(records_[1].prompt_bytes, 1u);
  EXPECT_EQ(records_[2].Written(), "y");
  EXPECT_EQ(records_[3].Written(), "");
}

TEST_F(UserRecordsTest, RowsOfOtherFormsAreRefusedAsLinesAre) {
  const std::string talk =
      "\"[{\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"secret\"\"}]\"";
  const std::pair<std::string, std::string> cases[] = {
      {"user,text,messages\na,x,\na,secret," + talk + "\n", "more than one of"},
      {"user,messages,prompt,completion\na,,p,c\na,,,\n", "neither \"messages\" nor"},
      {"user,messages\na," + talk + "\na,secret\n", "cannot be read"},
      {"user,messages\na," + talk + "\na,[]\n", "no answer"},
      {"user,messages\na," + talk + "\na,\n", "neither \"messages\" nor"},
      {"user,prompt,completion\na,p,c\na,secret,\n", "\"completion\" is empty"},
      {"user,messages\na," + talk + "\na,\"[], \"\"secret\"\": []\"\n", "no answer"},
  };
  for (const auto& [rows, reason] : cases) {
    Write(rows, "c.csv");
    EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("c.csv:3: "), HasSubstr(reason),
                                       Not(HasSubstr("secret")))))
        << rows;
  }
  Write("user,prompt\na,p\n", "c.csv");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"text\"")));
}

TEST_F(UserRecordsTest, ARecordOfSeveralOwnersIsNobodys) {
  SUBMIX_ASSERT_OK(ReadText(R"({"user": "a", "text": "1", "owners": ["a"]})"
                            "\n"
                            R"({"user": "a", "text": "2", "owners": ["b", "a"]})"
                            "\n"
                            R"({"user": "a", "text": "3", "owners": ["b"]})"
                            "\n"
                            R"({"user": 7, "text": "4", "owners": [7, "7"]})"
                            "\n"
                            R"({"user": 7, "text": "5", "owners": [7, 8]})"
                            "\n"
                            R"({"owners": ["a"], "user": "a", "text": "6", "more": ["b"]})"
                            "\n"
                            R"({"user": "a", "text": "7", "owners": null})"
                            "\n"
                            R"({"user": "a", "text": "8", "owners": []})"
                            "\n"
                            R"({"user": "a", "text": "9", "owners": ["b"], "owners": ["a"]})"
                            "\n"
                            R"({"user": "a", "text": "10", "more": {"owners": ["b"]}})"
                            "\n"));
  std::string texts;
  for (const UserRecord& record : records_) texts += record.text + " ";
  EXPECT_EQ(texts, "1 4 6 7 8 9 10 ");
  std::string of_several;
  SUBMIX_ASSERT_OK(ReadAllRecords(path_, [&](const UserRecord& record) {
    if (record.has_other_owners) of_several += record.text + " ";
    return base::OkStatus();
  }));
  EXPECT_EQ(of_several, "2 3 5 ");
  SUBMIX_EXPECT_OK(ReadText(R"({"user": "a", "text": "1", "owners": ["b"]})"
                            "\n"))
      << "what is left depends on whose records they are: not refused";
  EXPECT_THAT(records_, SizeIs(0));
  for (const char* owners :
       {"\"b\"", "7", "{\"a\": 1}", "[1.5]", "[null]", "[[\"a\"]]", "[{}]", "[\"a\", true]"}) {
    EXPECT_THAT(ReadText(R"({"user": "secret", "text": "secret", "owners": )" +
                         std::string(owners) + "}\n"),
                IsRefused(1, "\"owners\" is no list of user keys"))
        << owners;
  }
}

TEST_F(UserRecordsTest, OwnersStandInATableAsJson) {
  Write("user,text,owners\na,1,\na,2,\"[\"\"a\"\"]\"\na,3,\"[\"\"a\"\", 7]\"\n", "c.csv");
  SUBMIX_ASSERT_OK(Read());
  EXPECT_THAT(records_, ElementsAre(IsRecord("a", "1", 2), IsRecord("a", "2", 3)));
  Write("user,owners,text,owners\na,,1,\n", "c.csv");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("names 2 columns \"owners\", expected one (or none)")));
  Write("user,text,owners\na,1,b\n", "c.csv");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("c.csv:2: ")));
}

TEST_F(UserRecordsTest, WhatIsWrittenAsALineIsReadBack) {
  UserRecord pair{"a", "is it? it is"};
  pair.prompt_bytes = 6;
  UserRecord talk{"b", ""};
  talk.messages = {{chat::ChatRole::kSystem, "\"s\""}, {chat::ChatRole::kAssistant, "a\n"}};
  SUBMIX_ASSERT_OK(ReadText(JsonLine(pair) + JsonLine(talk) + JsonLine({"c", "x"})));
  ASSERT_THAT(records_, SizeIs(3));
  EXPECT_EQ(records_[0].prompt_bytes, 6u);
  EXPECT_EQ(records_[1].messages, talk.messages);
  EXPECT_THAT(records_[2], IsRecord("c", "x", 3));
  EXPECT_EQ(JsonLine({"c", "x"}), "{\"user\": \"c\", \"text\": \"x\"}\n");
}

}  // namespace user_records_test
}  // namespace submix::corpus
