import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A service that locks with Redisson.
 *
 * <p>Client URL KEY [WATCHDOG_MS]. URL is redis://HOST:PORT, or redis+cluster://HOST:PORT. Reads commands from
 * standard input, one a line, and answers each with one line:
 *
 * <pre>
 * kind NAME         "kind": from here on the lock of getLock, getFairLock, or getReadWriteLock: plain, fair, read, write
 * lock              "locked MS": so long it waited
 * try [MS]          "locked" or "busy"; waits so long, 0 without MS
 * unlock            "unlocked"
 * contend DIR NAME HOLD_MS OFFSET_NS
 *                   locks, works as worker.py does, unlocks, again and again, until the next line comes;
 *                   "contended N". OFFSET_NS is CLOCK_BOOTTIME - CLOCK_MONOTONIC.
 * rest              "rested"
 * </pre>
 *
 * An exception is answered with "exception" and what it says. Ends with its input.
 */
final class Client {
  private final RedissonClient redisson;
  private final String name;
  private RLock lock;
  private final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));

  private Client(RedissonClient redisson, String name) {
    this.redisson = redisson;
    this.name = name;
    this.lock = lockOf("plain");
  }

  private RLock lockOf(String kind) {
    switch (kind) {
      case "fair":
        return redisson.getFairLock(name);
      case "read":
        return redisson.getReadWriteLock(name).readLock();
      case "write":
        return redisson.getReadWriteLock(name).writeLock();
      default:
        return redisson.getLock(name);
    }
  }

  public static void main(String[] args) throws Exception {
    Config config = new Config();
    if (args.length > 2) config.setLockWatchdogTimeout(Long.parseLong(args[2]));
    if (args[0].startsWith("redis+cluster://")) {
      config.useClusterServers().addNodeAddress(args[0].replace("+cluster", ""));
    } else {
      config.useSingleServer().setAddress(args[0]).setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
    }
    RedissonClient redisson = Redisson.create(config);
    System.out.println("ready");
    new Client(redisson, args[1]).serve();
    redisson.shutdown();
  }

  private void serve() throws Exception {
    String line;
    while ((line = input.readLine()) != null) {
      String[] words = line.split(" ");
      try {
        System.out.println(answer(words));
      } catch (Exception e) {
        System.out.println("exception " + e);
      }
    }
  }

  private String answer(String[] words) throws Exception {
    switch (words[0]) {
      case "kind":
        lock = lockOf(words[1]);
        return "kind";
      case "lock":
        long asked = System.nanoTime();
        lock.lock();
        return "locked " + (System.nanoTime() - asked) / 1_000_000;
      case "try":
        long wait = words.length > 1 ? Long.parseLong(words[1]) : 0;
        return lock.tryLock(wait, TimeUnit.MILLISECONDS) ? "locked" : "busy";
      case "unlock":
        lock.unlock();
        return "unlocked";
      case "contend":
        return "contended " + contend(Path.of(words[1]), words[2], Long.parseLong(words[3]), Long.parseLong(words[4]));
      case "rest":
        return "rested";
      default:
        return "what is " + words[0] + "?";
    }
  }

  private int contend(Path directory, String name, long holdMs, long offset) throws Exception {
    Files.createDirectories(directory.resolve("beats"));
    int cycles = 0;
    for (; !input.ready() && System.in.available() == 0; ++cycles) {
      long arrival = System.nanoTime() + offset;
      lock.lock();
      try {
        work(directory, name + "." + ProcessHandle.current().pid() + "." + cycles, holdMs, offset, arrival);
      } finally {
        lock.unlock();
      }
    }
    return cycles;
  }

  private void work(Path directory, String id, long holdMs, long offset, long arrival) throws Exception {
    long start = System.nanoTime() + offset;
    log(directory, "id=" + id + " key=" + lock.getName() + " start=" + start + " arrival=" + arrival);
    try (RandomAccessFile beat = new RandomAccessFile(directory.resolve("beats/" + id).toFile(), "rw")) {
      Path counter = directory.resolve("counter");
      int count = Files.exists(counter) ? Integer.parseInt(Files.readString(counter).strip()) + 1 : 1;
      long now;
      do {
        Thread.sleep(1);
        now = System.nanoTime() + offset;
        beat.seek(0);
        beat.write(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(now).array());
      } while (now < start + holdMs * 1_000_000);
      // In one write, which a kill does not tear.
      Files.writeString(counter, String.format("%020d\n", count), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      log(directory, "id=" + id + " end=" + (System.nanoTime() + offset) + " wrote=" + count);
    }
  }

  private static void log(Path directory, String line) throws Exception {
    Files.write(directory.resolve("log"), (line + "\n").getBytes(StandardCharsets.US_ASCII),
        StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }
}
