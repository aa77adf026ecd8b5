#include "submix/server/connection_seats.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace submix::server {
namespace connection_seats_test {

using testing::ElementsAre;
using testing::IsEmpty;

// Clients by number; `left` are those who had to make room, in their order.
class ConnectionSeatsTest : public testing::Test {
 protected:
  ConnectionSeats::Seat& Come(bool waits = true) {
    const int number = static_cast<int>(clients_.size());
    clients_.push_back(
        std::make_unique<ConnectionSeats::Seat>([this, number] { left.push_back(number); }));
    EXPECT_TRUE(seats.Enter(*clients_.back()));
    if (waits) seats.Wait(*clients_.back());
    return *clients_.back();
  }

  std::vector<std::unique_ptr<ConnectionSeats::Seat>> clients_;
  std::vector<int> left;
  ConnectionSeats seats{4, 2};
};

TEST_F(ConnectionSeatsTest, TheLongestWaitingWithoutAKeyMakesRoom) {
  auto& first = Come();
  Come();
  seats.Work(first);
  seats.Wait(first);  // it has waited for less time now than the second
  EXPECT_THAT(left, IsEmpty());
  EXPECT_FALSE(seats.IsGuest(Come()));
  EXPECT_THAT(left, ElementsAre(1));
  Come();
  EXPECT_THAT(left, ElementsAre(1, 0));
}

TEST_F(ConnectionSeatsTest, ThereIsRoomUntilSomebodyWouldHaveToGo) {
  EXPECT_EQ(seats.room(), 2) << "two of four are kept for keys";
  Come();
  EXPECT_EQ(seats.room(), 1);
  auto& second = Come();
  EXPECT_EQ(seats.room(), 0);
  seats.Leave(second);
  EXPECT_EQ(seats.room(), 1);
}

TEST_F(ConnectionSeatsTest, WhoIsAnsweredStays) {
  Come(/*waits=*/false);
  Come(/*waits=*/false);
  EXPECT_TRUE(seats.IsGuest(Come()));
  EXPECT_THAT(left, IsEmpty());
}

TEST_F(ConnectionSeatsTest, APartIsKeptForKeys) {
  Come(/*waits=*/false);
  Come(/*waits=*/false);
  auto& guest = Come();
  EXPECT_TRUE(seats.ShowKey(guest, "key"));
  EXPECT_FALSE(seats.IsGuest(guest));
  EXPECT_TRUE(seats.ShowKey(Come(), "key"));
  EXPECT_FALSE(seats.ShowKey(Come(), "key")) << "all four are taken";
  EXPECT_THAT(left, IsEmpty());
  seats.Leave(guest);
  EXPECT_TRUE(seats.ShowKey(Come(), "key"));
}

TEST_F(ConnectionSeatsTest, KeysNeedNotStayInTheirPart) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(seats.ShowKey(Come(), "key"));
  EXPECT_TRUE(seats.IsGuest(Come()));
  EXPECT_THAT(left, IsEmpty());
}

TEST_F(ConnectionSeatsTest, TheKeyThatHoldsMostMakesRoomForOthers) {
  for (const char* key : {"few", "most", "most", "most"}) {
    auto& client = Come();
    EXPECT_TRUE(seats.ShowKey(client, key));
    seats.Wait(client);
  }
  EXPECT_TRUE(seats.ShowKey(Come(), "new"));
  EXPECT_THAT(left, ElementsAre(1)) << "of the three it has waited longest";
  EXPECT_TRUE(seats.ShowKey(Come(), "few"));
  EXPECT_THAT(left, ElementsAre(1, 2));
  EXPECT_TRUE(seats.ShowKey(Come(), "few"));
  EXPECT_THAT(left, ElementsAre(1, 2, 0)) << "no key holds more than it does itself";
  EXPECT_FALSE(seats.ShowKey(Come(), "few")) << "its own are at work";
}

TEST_F(ConnectionSeatsTest, GuestsMakeRoomForGuests) {
  Come(/*waits=*/false);
  Come(/*waits=*/false);
  for (int i = 0; i < 65; ++i) EXPECT_TRUE(seats.IsGuest(Come()));
  EXPECT_THAT(left, ElementsAre(2));
}

TEST_F(ConnectionSeatsTest, LeavingFreesASeatOnce) {
  auto& first = Come(/*waits=*/false);
  Come(/*waits=*/false);
  seats.Leave(first);
  seats.Leave(first);
  EXPECT_FALSE(seats.IsGuest(Come(/*waits=*/false)));
  EXPECT_TRUE(seats.IsGuest(Come(/*waits=*/false)));
}

TEST_F(ConnectionSeatsTest, WhoTakesLeaveHoldsNoSeat) {
  for (int i = 0; i < 100; ++i) {
    auto& client = Come();
    EXPECT_TRUE(seats.ShowKey(client, "key")) << i;
    seats.TakeLeave(client);
  }
  EXPECT_EQ(left.size(), 36u) << "as guests they are at most 64";
}

TEST_F(ConnectionSeatsTest, OneIsFreedOnDemand) {
  Come(/*waits=*/false);
  Come();
  seats.FreeOne();
  seats.FreeOne();
  EXPECT_THAT(left, ElementsAre(1));
  auto& holder = Come();
  EXPECT_TRUE(seats.ShowKey(holder, "key"));
  seats.Wait(holder);
  seats.FreeOne();
  EXPECT_THAT(left, ElementsAre(1, 2));
}

}  // namespace connection_seats_test
}  // namespace submix::server
