// client.js redlock|redis-semaphore try|hold NAME: see client.py.
const Redis = require('ioredis');
const [library, verb, name] = process.argv.slice(2);
const client = new Redis({ path: process.env.sock });

async function acquired() {
  if (library === 'redlock') {
    const Redlock = require('redlock');
    const tries = new Redlock([client], { retryCount: verb === 'hold' ? 3000 : 0, retryDelay: 50 });
    const lock = await tries.lock(name, 30000).catch((error) => {
      if (error.name === 'LockError') return null;
      throw error;
    });
    return lock && (() => lock.unlock());
  }
  const { Mutex } = require('redis-semaphore');
  const tries = verb === 'hold' ? 3000 : 1;
  const mutex = new Mutex(client, name, { lockTimeout: 30000, acquireAttemptsLimit: tries, retryInterval: 50 });
  return (await mutex.tryAcquire()) && (() => mutex.release());
}

(async () => {
  const release = await acquired();
  if (!release) process.exit(75);
  console.log('held');
  process.stdin.resume();
  await new Promise((end) => process.stdin.on('end', end));
  await release();
  process.exit(0);
})();
