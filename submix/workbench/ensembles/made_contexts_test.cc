#include "submix/workbench/ensembles/made_contexts.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/contexts/context_records.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/workbench/ensembles/loss_notes.h"
#include "submix/workbench/ensembles/testing/lettered_contexts.h"

namespace submix::workbench {
namespace made_contexts_test {

using base::StatusCode;
using base::StatusIs;
using ensemble::OpenedEnsemble;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Twelve users over the bundled public model.
class MadeContextsTest : public ::testing::Test {
 protected:
  // The one trained ensemble of all users under a key of its own, as far as files go.
  std::string Trained(const std::map<std::string, std::string>& hyper_parameters = {}) {
    const std::string place = directory_.File("trained");
    ensemble::Manifest manifest;
    manifest.num_parts = 3;
    manifest.hyper_parameters = hyper_parameters;
    ensemble::WriteEnsemble(place, manifest);
    return place;
  }

  base::TemporaryDirectory directory_;
  ContextsRequest request_ = LetteredContexts(directory_, 'l');
};

TEST_F(MadeContextsTest, EachMemberReadsTheRecordsOfItsPart) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan, ContextsPlan::Create(request_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto made, plan.Make());
  ASSERT_EQ(made.ensembles.size(), 1u);
  const OpenedEnsemble& opened = made.ensembles.front();
  SUBMIX_EXPECT_OK(opened.VerifyFiles());
  EXPECT_EQ(opened.manifest().users, 12);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto members, opened.MemberDirectories());
  std::size_t records = 0;
  for (const std::string& member : members) records += contexts::LoadRecords(member)->size();
  EXPECT_EQ(records, 12u);
  EXPECT_FALSE(base::FileExists(request_.ensemble + ".unfinished"));
}

TEST_F(MadeContextsTest, EachBatchIsAnEnsembleOfItsOwn) {
  request_.batches = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan, ContextsPlan::Create(request_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto made, plan.Make());
  ASSERT_EQ(made.ensembles.size(), 3u);
  std::int64_t users = 0;
  for (const OpenedEnsemble& one : made.ensembles) users += *one.manifest().users;
  EXPECT_EQ(users, 12);
}

TEST_F(MadeContextsTest, WhatCannotBeMadeIsSaidBeforeAnythingIsWritten) {
  const auto refused = [&](const ContextsRequest& request, StatusCode code, const char* why) {
    EXPECT_THAT(ContextsPlan::Create(request).status(), StatusIs(code, HasSubstr(why)));
    EXPECT_FALSE(base::FileExists(directory_.File("ensemble")));
  };
  ContextsRequest wide = request_;
  wide.contexts.tokens = 100000;
  refused(wide, StatusCode::kInvalidArgument, "--context-tokens: expected 16 to");
  ContextsRequest nowhere = request_;
  nowhere.public_directory = directory_.File("nowhere");
  refused(nowhere, StatusCode::kNotFound, "nowhere");
  directory_.Write("full/file", "something");
  ContextsRequest full = request_;
  full.ensemble = directory_.File("full");
  refused(full, StatusCode::kAlreadyExists, "not empty");
}

TEST_F(MadeContextsTest, AdaptersThatCannotReadAreRefused) {
  const auto refused = [&](const char* why) {
    ContextsRequest request = request_;
    request.public_directory.clear();
    request.adapters = directory_.File("trained");
    EXPECT_THAT(ContextsPlan::Create(std::move(request)).status(),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr(why)));
  };
  Trained({{"private", "dp-sgd"}});
  refused("trained with differential privacy");
  Trained();
  refused("is a whole model");
}

TEST_F(MadeContextsTest, WhoseTextIsLeftOutGetsThePublicModel) {
  request_.partition.num_parts = 40;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan, ContextsPlan::Create(request_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto made, plan.Make());
  EXPECT_THAT(MembersWithoutText(made.ensembles.front().manifest()),
              HasSubstr("of the 40 members got no text"));
  request_.partition.num_parts = 1;
  request_.ensemble = directory_.File("one");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto one, ContextsPlan::Create(request_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto full, one.Make());
  EXPECT_THAT(MembersWithoutText(full.ensembles.front().manifest()), IsEmpty());
}

TEST_F(MadeContextsTest, ADeploymentBesideAddsUpUnlessNobodyOfItsUsersIsHere) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan, ContextsPlan::Create(request_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto made, plan.Make());
  const NewEnsemble next = {request_.corpus, directory_.File("next"), request_.public_directory};
  EXPECT_THAT(*WhatAddsUp(next, {}), IsEmpty());
  ensemble::Manifest manifest = made.ensembles.front().manifest();
  manifest.deployments.push_back({.name = "answers",
                                  .lineage = "0123456789abcdef",
                                  .mechanism = "dclip",
                                  .epsilon = 2,
                                  .order = 8});
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, request_.ensemble));
  EXPECT_THAT(*WhatAddsUp(next, {}), HasSubstr("answers (12 of these 12 users)"));
  directory_.Write("others.jsonl", "{\"user\": \"z\", \"text\": \"other\"}\n");
  const NewEnsemble others = {corpus::CorpusFile(directory_.File("others.jsonl")), next.directory,
                              next.public_directory};
  EXPECT_THAT(*WhatAddsUp(others, {}), IsEmpty());
}

}  // namespace made_contexts_test
}  // namespace submix::workbench
