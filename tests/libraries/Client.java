import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;

/** Client shedlock|spring|spring-7|spring-spin try|hold NAME: see client.py. TCP, at the port in $port. */
class Client {
  public static void main(String[] words) throws Exception {
    var factory = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(System.getenv("port")));
    factory.afterPropertiesSet();
    factory.start();
    Runnable release = words[0].equals("shedlock") ? shedlock(factory, words) : spring(factory, words);
    if (release == null) System.exit(75);
    System.out.println("held");
    while (System.in.read() >= 0) continue;
    release.run();
    System.exit(0);
  }

  static Runnable spring(LettuceConnectionFactory factory, String[] words) throws Exception {
    var registry = new RedisLockRegistry(factory, "registry");
    if (!words[0].equals("spring-spin")) registry.setRedisLockType(RedisLockRegistry.RedisLockType.PUB_SUB_LOCK);
    var lock = registry.obtain(words[2]);
    if (words[1].equals("hold")) lock.lock();
    else if (!lock.tryLock(0, TimeUnit.MILLISECONDS)) return null;
    return lock::unlock;
  }

  // It waits for nothing.
  static Runnable shedlock(LettuceConnectionFactory factory, String[] words) throws Exception {
    var provider = new RedisLockProvider(factory, "test");
    while (true) {
      var lock = provider.lock(
          new LockConfiguration(Instant.now(), words[2], Duration.ofSeconds(30), Duration.ZERO));
      if (lock.isPresent()) return lock.get()::unlock;
      if (words[1].equals("try")) return null;
      Thread.sleep(50);
    }
  }
}
